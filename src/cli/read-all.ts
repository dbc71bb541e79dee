import { CommandError } from './io.js'

/** The bytes of a stream to its end. Throws {@link CommandError} with `tooLarge` where there are more than `maxBytes`. */
export async function readAll(
  source: AsyncIterable<string | Uint8Array> | Iterable<Uint8Array>,
  maxBytes: number,
  tooLarge: string,
): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of source) {
    const bytes = Buffer.from(chunk as Uint8Array)
    size += bytes.length
    if (size > maxBytes) throw new CommandError(tooLarge)
    chunks.push(bytes)
  }
  return Buffer.concat(chunks)
}
