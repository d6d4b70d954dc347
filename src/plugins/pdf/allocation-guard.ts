/**
 * Makes single allocations above a limit throw, in the thread where it is called. A compressed stream of a megabyte
 * can unfold to a gigabyte, and limits on the heap of a thread do not count such buffers.
 *
 * @param maxBytes - Bytes of one buffer.
 * @param onBreach - Told when something wanted more.
 */
export function guardAllocations(maxBytes: number, onBreach: () => void): void {
  // The platform's own decompression grows outside of what can be watched; without it, the reader uses its own.
  Reflect.deleteProperty(globalThis, 'DecompressionStream');
  for (const name of BUFFERS) {
    const original = globalThis[name];
    const unit = 'BYTES_PER_ELEMENT' in original ? original.BYTES_PER_ELEMENT : 1;
    const guarded: typeof original = new Proxy(original, {
      construct(target, given: readonly unknown[], newTarget) {
        const [size] = given;
        if (typeof size === 'number' && size * unit > maxBytes) {
          onBreach();
          throw new RangeError('The buffer is larger than is allowed');
        }
        return Reflect.construct(target, given, newTarget === guarded ? target : newTarget) as object;
      },
    });
    Object.defineProperty(globalThis, name, { value: guarded, configurable: true, writable: true });
  }
}

const BUFFERS = [
  'ArrayBuffer',
  'Uint8Array',
  'Uint8ClampedArray',
  'Int8Array',
  'Uint16Array',
  'Int16Array',
  'Uint32Array',
  'Int32Array',
  'Float32Array',
  'Float64Array',
] as const;
