import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { Worker } from 'node:worker_threads'
import type t from 'tap'

type Test = Pick<typeof t, 'teardown'>

/** A listener whose thread stops: its backlog is full, so that the kernel answers no further connection. */
const LISTENER = `
  const { parentPort } = require('node:worker_threads')
  const server = require('node:net').createServer()
  server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
    parentPort.postMessage(server.address().port)
    // At once: in another turn of its event loop it would accept connections, and there would be room for more.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  })
`

/** An origin to which connecting hangs: the three-way handshake is never completed. */
export async function hangingOrigin(test: Test): Promise<string> {
  const worker = new Worker(LISTENER, { eval: true })
  const [port] = (await once(worker, 'message')) as [number]
  const fill = Array.from({ length: 8 }, () => connect(port, '127.0.0.1').on('error', () => undefined))
  test.teardown(async () => {
    for (const socket of fill) socket.destroy()
    await worker.terminate()
  })
  return `http://127.0.0.1:${port}`
}

/** A loopback address of its own: no other test gets a free port there while this one is refused. */
const REFUSING_HOST = '127.0.0.9'

/** An origin that refuses connections: its port was free a moment ago. */
export async function refusingOrigin(): Promise<string> {
  const server = createServer().listen(0, REFUSING_HOST)
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return `http://${REFUSING_HOST}:${typeof address === 'object' ? address?.port : address}`
}
