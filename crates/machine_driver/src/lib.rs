//! A CUDA driver whose devices are PTX machines, for tests of launching code on a machine that has no GPU.
//!
//! As a shared library by the name of the driver's (`libcuda.so`), found before it, this takes the driver's place. It
//! has the functions that `splitk_cuda` and the Python launchers call, and those that their tests need, with the
//! driver's error codes where they are what a test is about. A launch runs at once, in the PTX machine with all its
//! checks, and is over when it returns; streams are names. A programmatic launch is held to what it may do before it
//! waits, against all launches before it, whatever their streams. The library is called otherwise where it is built, so
//! that nothing takes it for a driver by chance.
//!
//! Environment: `MACHINE_DRIVER_DEVICES` lists the devices' architectures (`90` stands for `sm_90`), such as `90,80`;
//! without it there is one of `sm_90`. Each has 132 multiprocessors.

mod answer;
mod api;
mod state;
