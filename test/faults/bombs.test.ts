import type { ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import { bombAnswer, bombMask, bombStream, manyTurns, PLACES, SHAPES } from '../helpers/bombs.js'
import { seeded } from '../helpers/random.js'
import type { Answer } from '../helpers/raw-client.js'
import { type Answered, type Sent, type SmallHeap, startSmallHeap } from '../helpers/small-heap.js'
import { clientOf, PROTOCOLS, type Protocol } from '../helpers/text-clients.js'
import { EACH_UPSTREAM, TEXT, upstreamOf } from '../helpers/text-upstreams.js'

// Documents that are small on the wire and large as objects, from callers and from upstreams, ten at once, in a process
// with a heap of 512 MiB: each is served or refused in the caller's family, and the process lives on.
// `npm run test:bombs` runs all rows; else a sample of each group is run, by a seed that is printed (BOMB_SEED).

const ALL = process.env.BOMBS === 'all'
const SEED = Number(process.env.BOMB_SEED ?? Date.now() % 100_000)
const AT_ONCE = 10
/** Below `limits.body`, of 32 MiB, with everything around it. */
const LARGEST_BYTES = 30_000_000
/** Of a sampled row: more than any limit but that one takes. */
const BODY_BYTES = ALL ? LARGEST_BYTES : 6_000_000
/** Under `limits.line`, of 1 MiB. */
const EVENT_BYTES = 1_000_000
const EVENTS = ALL ? 20 : 4
/** Of the rows of a mask whose pixels are none. */
const INFLATED_BYTES = 256 * 1024 * 1024

t.setTimeout(ALL ? 7_200_000 : 600_000)

interface Row {
  readonly name: string
  readonly client: Protocol
  readonly make: (bytes?: number) => { readonly sent: Sent; readonly answer?: (response: ServerResponse) => void }
}

const PAIRS = PROTOCOLS.flatMap(client => PROTOCOLS.map(upstream => [client, upstream] as const))
const TRANSLATED = PAIRS.filter(([client, upstream]) => client !== upstream)

const REQUESTS: readonly Row[] = TRANSLATED.flatMap(([client, upstream]) => [
  ...PLACES.flatMap(place =>
    SHAPES.map(shape => ({
      name: `${client} → ${upstream}: ${shape.name} in ${place.name}`,
      client,
      make: (bytes = BODY_BYTES) => ({
        sent: asking(client, upstream, false, place.body(client, upstream, shape.json(bytes))),
      }),
    })),
  ),
  {
    name: `${client} → ${upstream}: many turns`,
    client,
    make: (bytes = BODY_BYTES) => ({ sent: asking(client, upstream, false, manyTurns(client, upstream, bytes)) }),
  },
])

const ANSWERS: readonly Row[] = PAIRS.flatMap(([client, upstream]) =>
  (['unknown', 'call'] as const).flatMap(place =>
    SHAPES.map(shape => ({
      name: `${client} ← ${upstream}: ${shape.name} in an answer, ${place}`,
      client,
      make: (bytes = BODY_BYTES) => {
        const body = Buffer.from(bombAnswer(upstream, place, shape.json(bytes)))
        return {
          sent: asking(client, upstream, false),
          answer: (response: ServerResponse) => {
            response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body)
          },
        }
      },
    })),
  ),
)

const EVENT_ROWS: readonly Row[] = PAIRS.flatMap(([client, upstream]) =>
  SHAPES.map(shape => ({
    name: `${client} ← ${upstream}: ${shape.name} in events`,
    client,
    make: () => {
      const pieces = bombStream(upstream, shape.json(EVENT_BYTES), EVENTS).map(upstreamOf(upstream).bytes)
      return {
        sent: asking(client, upstream, true),
        answer: (response: ServerResponse) => {
          response.writeHead(200, { 'content-type': upstreamOf(upstream).contentType })
          for (const piece of pieces) response.write(piece)
          response.end()
        },
      }
    },
  })),
)

t.test('F-B1 bombs', async t => {
  t.comment(`seed ${SEED}`)
  const stage = await startSmallHeap(t, yaml)
  const run = async (rows: readonly Row[], bytes?: number): Promise<void> => {
    for (const row of rows) if (stage.alive) await runRow(t, stage, row, bytes)
  }
  // What killed a heap of 512 MiB alone, as it did.
  const first = [
    REQUESTS.find(({ name }) => name === 'messages → chat: deep lists in an unknown member'),
    ANSWERS.find(({ name }) => name === 'chat ← messages: deep lists in an answer, call'),
  ]
  await run(
    first.flatMap(row => row ?? []),
    LARGEST_BYTES,
  )
  for (const [rows, sample] of [
    [REQUESTS, 4],
    [ANSWERS, 3],
    [EVENT_ROWS, 2],
  ] as const)
    await run(ALL ? rows : sampled(rows, sample))
  t.comment(`peak of the process: ${stage.peakMiB()} MiB`)
})

t.test('F-B1 masks without a width, which are small until they are inflated', async t => {
  const stage = await startSmallHeap(t, yaml)
  stage.upstream.answer = (request, response) => plain(request.url ?? '', response)
  const sent = (mask: string): Sent => ({
    path: '/v1/chat/completions',
    body: JSON.stringify({ model: 'masked', messages: [{ role: 'user', content: 'hi' }], mask }),
  })
  t.match(await stage.send(sent('none')), { status: 200 })
  const before = stage.peakMiB() ?? 0
  const mask = bombMask(INFLATED_BYTES).toString('base64')
  const { result, pulse } = await stage.pulse(() => stage.sendAll(sent(mask), AT_ONCE))
  for (const one of result) t.match(one, { status: 400, text: /The mask is not a valid PNG/ })
  t.equal(pulse.failures, 0, '/livez answers')
  const added = (stage.peakMiB() ?? 0) - before
  t.ok(added < INFLATED_BYTES / 2 ** 20, `${added} MiB were added`)
})

async function runRow(t: Test, stage: SmallHeap, row: Row, bytes?: number): Promise<void> {
  const { sent, answer } = row.make(bytes)
  stage.upstream.answer = (request, response) => {
    if (answer === undefined) plain(request.url ?? '', response)
    else answer(response)
  }
  const { result, pulse } = await stage.pulse(() => stage.sendAll(sent, AT_ONCE))
  if (!stage.alive) {
    t.fail(`${row.name}: the process died`)
    return
  }
  for (const one of result) checkAnswer(t, row, one)
  stage.upstream.answer = (request, response) => plain(request.url ?? '', response)
  const after = await stage.send(asking(row.client, row.client === 'chat' ? 'messages' : 'chat', false))
  t.match(after, { status: 200 }, `${row.name}: a plain request afterwards`)
  t.match(after.text, TEXT)
  const statuses = [...new Set(result.map(({ status }) => status))].join(', ')
  t.comment(`${row.name}: ${statuses}; livez p50 ${pulse.p50} p99 ${pulse.p99} max ${pulse.max} ms`)
  t.equal(pulse.failures, 0, `${row.name}: /livez answers`)
}

/** Served, or refused in words of the caller's family. */
function checkAnswer(t: Test, { name, client }: Row, answer: Answered): void {
  if (answer.status === 200) t.ok(answer.bytes > 0, `${name}: served`)
  else if (answer.status === 0) t.fail(`${name}: no answer`)
  else clientOf(client).error(t, asAnswer(answer), answer.status)
}

function asAnswer({ status, headers, text, whole }: Answered): Answer {
  return {
    status,
    whole,
    text,
    header: (name: string) => headers[name],
    json: () => JSON.parse(text) as unknown,
  } as unknown as Answer
}

function asking(client: Protocol, upstream: Protocol, stream: boolean, body?: string): Sent {
  const { path, body: bodyOf } = clientOf(client)
  return {
    path: path(upstream, stream),
    headers: { 'anthropic-version': '2023-06-01' },
    body: Buffer.from(body ?? JSON.stringify(bodyOf(upstream, stream, client === 'responses' ? { store: false } : {}))),
  }
}

/** A small good answer in the protocol that the path belongs to. */
function plain(path: string, response: ServerResponse): void {
  const protocol = PROTOCOLS.find(one => path.startsWith(`/${one}/`)) ?? 'chat'
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(upstreamOf(protocol).answer))
}

function sampled(rows: readonly Row[], count: number): readonly Row[] {
  const random = seeded(SEED)
  return rows
    .map(row => [random(), row] as const)
    .toSorted(([a], [b]) => a - b)
    .slice(0, count)
    .map(([, row]) => row)
}

function yaml(origin: string): string {
  const upstreams = EACH_UPSTREAM.map(
    ({ protocol, yaml }) => `  ${protocol}: { base: "${origin}/${protocol}", ${yaml} }\n`,
  )
  const models = EACH_UPSTREAM.map(({ protocol }) => `  ${protocol}: ${protocol}\n`)
  return `version: 1
listen: { port: 0 }
store: { type: memory }
keys: { caller: { secret: { env: CALLER_KEY }, models: ["*"] } }
timeouts: { connect: 60s }
upstreams:
${upstreams.join('')}models:
${models.join('')}  masked: { upstream: chat, request: [{ mask: { mask: black } }] }
`
}
