/**
 * What compressed bytes unpack to. A reader who ends early cancels nothing: Node's decompression throws where nobody can
 * catch it when it is cancelled just as it ends, and what is not read any more holds nothing but memory.
 */
export async function* unpack(
  packed: ReadableStream<Uint8Array<ArrayBuffer>>,
  format: 'gzip' | 'deflate',
): AsyncGenerator<Uint8Array, void> {
  const reader = packed.pipeThrough(new DecompressionStream(format)).getReader();
  for (let read = await reader.read(); !read.done; read = await reader.read()) yield read.value;
}
