//! What a decoder owns on the device, as Python holds it.

use std::ops::Deref;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use splitk_cuda::DeviceBuffer;

/// A value that may wait for the device when it is dropped; the interpreter is let go of meanwhile.
pub struct LetGo<T: Send>(Option<T>);

impl<T: Send> LetGo<T> {
    pub fn new(value: T) -> Self {
        Self(Some(value))
    }
}

impl<T: Send> Deref for LetGo<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().expect("there until it is dropped")
    }
}

impl<T: Send> Drop for LetGo<T> {
    fn drop(&mut self) {
        let value = self.0.take();
        // Without an interpreter (it has shut down) the closure is dropped, and the value with it.
        Python::try_attach(move |py| py.detach(move || drop(value)));
    }
}

/// The result of a call that was given no `out`: an f32 array of the decoder's own, in device memory.
#[pyclass(name = "DeviceArray", module = "rust_kernel.decode", frozen)]
pub struct PyDeviceArray {
    buffer: LetGo<DeviceBuffer>,
    #[pyo3(get)]
    shape: (u64, u64),
}

impl PyDeviceArray {
    /// The buffer as a dense f32 array of this shape.
    pub fn new(buffer: DeviceBuffer, shape: (u64, u64)) -> Self {
        Self { buffer: LetGo::new(buffer), shape }
    }
}

#[pymethods]
impl PyDeviceArray {
    #[getter(__cuda_array_interface__)]
    fn cuda_array_interface<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let interface = PyDict::new(py);
        interface.set_item("shape", self.shape)?;
        interface.set_item("typestr", "<f4")?;
        interface.set_item("data", (self.buffer.address(), false))?;
        interface.set_item("strides", py.None())?;
        // No stream to wait for: whoever reads the array orders itself after the call, as with any `out`.
        interface.set_item("stream", py.None())?;
        interface.set_item("version", 3)?;
        Ok(interface)
    }

    fn __repr__(&self) -> String {
        format!("DeviceArray(shape={:?}, dtype='float32', address={:#x})", self.shape, self.buffer.address())
    }
}
