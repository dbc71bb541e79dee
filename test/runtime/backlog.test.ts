import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createConnection } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import { type Bin, start } from '../cli/bin.js'
import { inTime } from '../helpers/journal.js'

/** More than the 511 that Node asks for by itself. */
const CLIENTS = 700

/** How many connections the system holds for a listener at most; Linux says so. */
function longestBacklog(): number {
  try {
    return Number(readFileSync('/proc/sys/net/core/somaxconn', 'latin1'))
  } catch {
    return 0
  }
}

const skip = longestBacklog() > CLIENTS ? false : 'the system holds fewer connections, or does not tell how many'
const TLS = join(packageRoot(), 'test/fixtures/tls')

/** Connections to a process that stops are made by the system alone, up to the backlog. */
async function connectAll(t: Test, bin: Bin, origin: string): Promise<number> {
  const { hostname, port } = new URL(origin)
  bin.child.kill('SIGSTOP')
  let made = 0
  const all = Array.from({ length: CLIENTS }, async () => {
    const socket = createConnection({ host: hostname, port: Number(port) })
    t.teardown(() => socket.destroy())
    await once(socket, 'connect')
    made++
  })
  await inTime(Promise.all(all), () => `${made} connections of ${CLIENTS}`)
  return made
}

for (const [name, listen] of [
  ['HTTP', '{}'],
  ['HTTPS', `{ tls: { cert: "${TLS}/first.pem", key: "${TLS}/first.key" } }`],
] as const)
  t.test(`${CLIENTS} connections at once over ${name} find a place in the backlog`, { skip }, async t => {
    const folder = t.testdir({ 'gateway.yaml': `version: 1\nlisten: ${listen}\n` })
    const bin = start(t, ['serve', join(folder, 'gateway.yaml'), '--port', '0', '--no-watch'])
    const [, origin = ''] = await bin.until(/"address":"([^"]+)"/)
    t.equal(await connectAll(t, bin, origin), CLIENTS)
  })
