import { once } from 'node:events'
import t, { type Test } from 'tap'
import { oneUpstream, startTestGateway } from '../helpers/gateway.js'
import { seeded } from '../helpers/random.js'
import { connectRaw } from '../helpers/raw-client.js'
import { turn } from '../helpers/raw-upstream.js'
import { CALLER_KEY, LAST, numbered, PAYLOADS, type Payload } from '../helpers/smuggling-payloads.js'
import { startStrictUpstream } from '../helpers/strict-upstream.js'

/** `FUZZ_SEED=7` repeats a run: where the messages are cut. */
const SEED = Number(process.env.FUZZ_SEED ?? 1)
/** Connections at a time. */
const LANES = 64
/** Pieces of messages that are cut. */
const PIECES = 4

/** What came of a message, sent in one piece or in several. */
interface Outcome {
  /** Of the final answers. */
  readonly statuses: readonly string[]
  /** Whose answers they are, of those that the upstream gave. */
  readonly answered: readonly string[]
  /** What the upstream was asked for. */
  readonly asked: readonly string[]
}

type Run = (payload: Payload, isCut: boolean) => Promise<Outcome>

async function runner(test: Test, transport: 'fast' | 'node') {
  // Nothing is answered before all is sent: what a message comes to must not depend on how fast it arrives.
  const sent = new Map<string, Promise<void>>()
  const upstream = await startStrictUpstream(test, mark => sent.get(mark.slice(-4)))
  // Long beside what a busy machine needs for a message, since some end only by them.
  const limits = 'limits: { headers: 10s, upload: 10s }'
  const yaml = oneUpstream(upstream.origin, `${limits}\ntransport: ${transport}\n`)
  const gateway = await startTestGateway(test, yaml, { env: { CALLER_KEY } })
  let runs = 0
  const run: Run = async (payload, isCut) => {
    const mine = ++runs
    const client = await connectRaw(test, gateway.origin)
    let text = ''
    client.socket.on('data', bytes => {
      text += bytes.toString('latin1')
    })
    const all = numbered(payload.text + LAST, mine)
    const number = String(mine).padStart(4, '0')
    const cuts = isCut ? cutsOf(payload, all.length) : [payload.cut].filter(cut => cut > 0)
    const sending = client.send(all, cuts).then(turn)
    sent.set(number, sending)
    await sending
    await client.closed()
    const own = new RegExp(`(\\w+)-${number}`)
    return {
      statuses: [...text.matchAll(/HTTP\/1\.1 ([2-5]\d\d) /g)].map(([, status = '']) => status),
      answered: [...text.matchAll(/"for-(\w+)-\d{4}"/g)].map(([, mark = '']) => mark),
      asked: upstream.reached.flatMap(({ mark }) => own.exec(mark)?.[1] ?? []),
    }
  }
  return { run, upstream, gateway }
}

function cutsOf(payload: Payload, length: number): number[] {
  const random = seeded(SEED * PAYLOADS.length + PAYLOADS.indexOf(payload))
  return [payload.cut, ...Array.from({ length: PIECES - 1 }, () => Math.floor(random() * length))].filter(at => at > 0)
}

/** Runs all payloads, some at a time. */
async function outcomes(run: Run, isCut: boolean): Promise<Outcome[]> {
  const found: Outcome[] = []
  const queue = [...PAYLOADS.entries()]
  const lane = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) found[next[0]] = await run(next[1], isCut)
  }
  await Promise.all(Array.from({ length: LANES }, lane))
  return found
}

t.test(
  `F-C9 ${PAYLOADS.length} smuggled requests: both transports serve the same, and none of them (FUZZ_SEED=${SEED})`,
  async t => {
    const fast = await runner(t, 'fast')
    const node = await runner(t, 'node')
    const runs = [fast, node].flatMap(({ run }) => [outcomes(run, false), outcomes(run, true)])
    const [ours = [], oursCut = [], theirs = [], theirsCut = []] = await Promise.all(runs)
    for (const [index, { family, title, served }] of PAYLOADS.entries()) {
      const found = [ours[index], oursCut[index], theirs[index], theirsCut[index]]
      t.same(found[0]?.asked, served, `${family}: ${title}: ${found[0]?.statuses}`)
      t.same(found[0]?.answered, served, `${family}: ${title}: each is answered`)
      for (const other of found.slice(1))
        t.same(other, found[0], `${family}: ${title}: the same on node, and in pieces`)
    }
    for (const { upstream, gateway } of [fast, node]) {
      gateway.gateway.closeNow()
      await gateway.gateway.closed
      await turn()
      t.same(upstream.odd, [], 'the upstream gets nothing but plain requests')
      t.equal(upstream.counts.requests, upstream.counts.received)
      t.equal(upstream.reached.length, 2 * PAYLOADS.flatMap(({ served }) => served).length, 'nothing comes later')
    }
  },
)

/** Node lets go of the connections of such requests. */
const LEAVING = {
  CONNECT: 'CONNECT gateway:80 HTTP/1.1\r\nhost: gateway\r\n\r\n',
  'a WebSocket': 'GET /v1/realtime HTTP/1.1\r\nhost: gateway\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n',
  'another upgrade': 'GET /v1/models HTTP/1.1\r\nhost: gateway\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n',
}

for (const transport of ['fast', 'node'] as const) {
  for (const [title, text] of Object.entries(LEAVING)) {
    t.test(
      `F-C15 a client that asks for ${title} and resets its connection, on ${transport}: only it is gone`,
      async t => {
        const { gateway } = await runner(t, transport)
        for (let times = 0; times < 20; times++) {
          const { socket } = await connectRaw(t, gateway.origin)
          socket.write(text)
          if (times % 2 === 0) await once(socket, 'data')
          socket.resetAndDestroy()
          await turn()
        }
        t.equal((await gateway.request('/livez')).status, 200)
      },
    )
  }
}
