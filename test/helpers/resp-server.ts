import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import type t from 'tap'

/** What a server says to a command (its words in lower case), byte by byte; undefined: nothing. */
export type Reply = (words: readonly string[]) => string | undefined

/** Something that speaks the protocol of Redis and answers as a test wants. */
export async function startRespServer(
  test: Pick<typeof t, 'teardown'>,
  reply: Reply,
): Promise<{ readonly port: number }> {
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    let rest = Buffer.alloc(0)
    socket.on('data', chunk => {
      rest = Buffer.concat([rest, chunk])
      for (let next = command(rest); next !== undefined; next = command(rest)) {
        rest = rest.subarray(next.length)
        const answer = reply(next.words)
        if (answer !== undefined) socket.write(answer)
      }
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  test.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const address = server.address()
  return { port: typeof address === 'object' && address !== null ? address.port : 0 }
}

/** The first whole command of the bytes. */
function command(bytes: Buffer): { readonly words: string[]; readonly length: number } | undefined {
  const text = bytes.toString('latin1')
  const [head, count] = /^\*(\d+)\r\n/.exec(text) ?? []
  if (head === undefined) return undefined
  const words: string[] = []
  let at = head.length
  for (let n = 0; n < Number(count); n++) {
    const [length, size] = /^\$(\d+)\r\n/.exec(text.slice(at)) ?? []
    if (length === undefined) return undefined
    const from = at + length.length
    at = from + Number(size) + 2
    if (at > text.length) return undefined
    words.push(text.slice(from, at - 2).toLowerCase())
  }
  return { words, length: at }
}

export function bulk(text: string): string {
  return `$${Buffer.byteLength(text)}\r\n${text}\r\n`
}
