import type { IncomingMessage } from 'node:http'

/** The body of a request to a server inside of this process, as text. Rejects if it has more than `maxBytes`. */
export async function textOfRequest(request: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request) {
    size += (chunk as Buffer).length
    if (size > maxBytes) throw new Error('the request is too large')
    chunks.push(chunk as Buffer)
  }
  return Buffer.concat(chunks).toString('utf8')
}
