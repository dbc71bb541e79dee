import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { haproxy, nginx, type StartFront, withoutHaproxy, withoutNginx } from '../helpers/fronts.js'
import { oneUpstream, startTestGateway } from '../helpers/gateway.js'
import { inTime } from '../helpers/journal.js'
import { CALLER_KEY, LAST, numbered, PAYLOADS, VICTIM } from '../helpers/smuggling-payloads.js'
import { type Reached, startStrictUpstream } from '../helpers/strict-upstream.js'

const TRANSPORTS = ['fast', 'node'] as const
/** Each sends one message after the other; a lane's messages share a connection between the front and the gateway. */
const LANES = 12

/** Sends all bytes, and takes what comes until the other side closes. */
async function exchange(port: number, bytes: Buffer): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port, noDelay: true, allowHalfOpen: true })
  let text = ''
  socket.on('data', data => {
    text += data.toString('latin1')
  })
  const over = new Promise<void>(resolve => {
    socket.on('end', resolve).on('close', () => resolve())
  })
  socket.on('error', () => undefined)
  socket.write(bytes)
  await inTime(over, () => `no end after ${text.slice(0, 400)}`)
  socket.destroy()
  return text
}

const statusesOf = (text: string): string[] =>
  [...text.matchAll(/HTTP\/1\.[01] ([2-5]\d\d) /g)].map(([, status = '']) => status)

/** Whose answers from the upstream these are. */
const answeredOf = (text: string): string[] => [...text.matchAll(/"for-(\w+-\d{4})"/g)].map(([, mark = '']) => mark)

const stampOf = ({ fields }: Reached): readonly string[] =>
  fields.filter(line => line.startsWith('x-front: ')).map(line => line.slice('x-front: '.length))

async function smuggle(t: Test, start: StartFront, transport: 'fast' | 'node'): Promise<void> {
  const upstream = await startStrictUpstream(t)
  const limits = 'limits: { headers: 2s, upload: 2s, keep_alive: 60s }'
  const yaml = oneUpstream(upstream.origin, `${limits}\ntransport: ${transport}\n`, 'forward: { request: [x-front] }')
  const gateway = await startTestGateway(t, yaml, { env: { CALLER_KEY } })
  const ports = await start(t, gateway.origin, LANES)
  const queue = [...PAYLOADS.entries()]
  const lane = async (port: number): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const [run, { family, title, text }] = next
      const told = await exchange(port, numbered(text + LAST, run))
      const victim = await exchange(port, numbered(VICTIM, run))
      const mine = upstream.reached.filter(({ mark }) => mark.endsWith(numbered('-@@@@', run).toString()))
      const asked = mine.map(({ mark }) => mark)
      const name = `${family}: ${title}: the client got ${statusesOf(told)}, the upstream ${asked}`
      // What the front takes for a request of its own is one: then its client is answered for it.
      t.same([...asked].sort(), [...answeredOf(told), ...answeredOf(victim)].sort(), name)
      t.ok(
        mine.every(one => stampOf(one).length === 1 && stampOf(one)[0] !== 'forged'),
        `${family}: ${title}: the front knows of each request`,
      )
      t.same(
        [statusesOf(victim), answeredOf(victim)],
        [['200'], [`victim-${numbered('@@@@', run)}`]],
        `${name}: the next one gets its own answer`,
      )
    }
  }
  await Promise.all(ports.map(lane))
  const stamps = upstream.reached.flatMap(stampOf)
  t.equal(new Set(stamps).size, stamps.length, 'each stamp reaches the upstream once')
  gateway.gateway.closeNow()
  await gateway.gateway.closed
  t.same(upstream.odd, [])
}

const FRONTS = [
  ['nginx', nginx, withoutNginx],
  ['haproxy', haproxy, withoutHaproxy],
] as const

for (const [name, front, skip] of FRONTS) {
  t.test(
    `F-C9 smuggled requests behind ${name}, with its defaults and when it passes on what is invalid: none arrives`,
    { skip },
    t =>
      Promise.all(
        [false, true].flatMap(isLenient => TRANSPORTS.map(transport => smuggle(t, front(isLenient), transport))),
      ),
  )
}
