// A stack machine, one program a thread: a switch that becomes a jump table, a local array with a dynamic index.

extern "C" __global__ void interpret(const unsigned char* __restrict__ code, const int* __restrict__ starts, int* __restrict__ out,
                                     int programs) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= programs) return;
    int stack[16] = {};
    int top = 0;
    stack[0] = i;
    for (int pc = starts[i];; ++pc) {
        const int b = stack[top & 15];
        const int a = stack[(top - 1) & 15];
        switch (code[pc]) {
            case 0: out[i] = b; return;
            case 1: stack[++top & 15] = code[++pc]; break;
            case 2: stack[--top & 15] = a + b; break;
            case 3: stack[--top & 15] = a - b; break;
            case 4: stack[--top & 15] = a * b; break;
            case 5: stack[--top & 15] = b == 0 ? 0 : a / b; break;
            case 6: stack[++top & 15] = b; break;
            case 7: stack[top & 15] = -b; break;
            case 8: stack[top & 15] = a; stack[(top - 1) & 15] = b; break;
            case 9: stack[top & 15] = b ^ (b >> 3); break;
            default: out[i] = -1; return;
        }
    }
}
