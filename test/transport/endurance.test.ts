import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t, { type Test } from 'tap'
import { ClientPool } from '../../src/transport/client/pool.js'
import { parserMemoryBytes } from '../../src/transport/llhttp.js'
import { begin } from './heard.js'

/** `ENDURANCE=1000000` repeats it for longer. */
const REQUESTS = Number(process.env.ENDURANCE ?? 20_000)
const AT_A_TIME = 32
const ANSWERS: readonly string[] = [
  'HTTP/1.1 200 OK\r\ncontent-length: 11\r\n\r\nhello world',
  'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n',
  'HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok',
]
/** Not an answer: what is aborted waits in here. */
const BROKEN = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhel'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Answers each request by the number in its path: the last eleventh is never answered whole. */
async function upstream(t: Test): Promise<{ origin: string; open: Set<Socket> }> {
  const open = new Set<Socket>()
  const server = createServer({ noDelay: true }, socket => {
    open.add(socket)
    socket.on('close', () => open.delete(socket)).on('error', () => undefined)
    socket.on('data', bytes => {
      const number = Number(/\d+/.exec(bytes.toString('latin1', 0, 20))?.[0])
      socket.write(number % 11 === 10 ? BROKEN : (ANSWERS[number % 23 === 0 ? 2 : number % 2] ?? ''))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, open }
}

t.test(`${REQUESTS} requests, a tenth of them aborted, leave nothing behind`, { timeout: 3_600_000 }, async t => {
  const { origin, open } = await upstream(t)
  const pool = new ClientPool(origin, 5000)
  let next = 0
  let whole = 0
  let aborted = 0
  let odd = 0
  const reason = new Error('aborted')
  const work = async (until: number): Promise<void> => {
    while (next < until) {
      const number = next++
      const isBroken = number % 11 === 10
      const heard = begin(pool, { path: `/${number}` }, isBroken ? { data: one => one.controller?.abort(reason) } : {})
      await heard.over
      if (isBroken && heard.error === reason) aborted++
      else if (heard.error === undefined) whole++
      else odd++
    }
  }
  const round = async (until: number): Promise<{ heap: number; parsers: number; sockets: number }> => {
    await Promise.all(Array.from({ length: AT_A_TIME }, () => work(until)))
    collect()
    return { heap: process.memoryUsage().heapUsed, parsers: parserMemoryBytes(), sockets: pool.size }
  }
  const before = await round(REQUESTS / 4)
  const after = await round(REQUESTS)
  t.equal(odd, 0)
  t.equal(whole + aborted, next)
  t.ok(aborted > REQUESTS / 12)
  t.ok(after.heap - before.heap < 2 * 1024 * 1024, `heap: ${before.heap} and ${after.heap} bytes`)
  t.equal(after.parsers, before.parsers)
  t.ok(after.sockets <= AT_A_TIME, `${after.sockets} connections`)
  await pool.destroy()
  while (open.size > 0) await new Promise(settle => setImmediate(settle))
  t.equal(pool.size, 0)
})
