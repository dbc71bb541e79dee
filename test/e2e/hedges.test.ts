import t, { type Test } from 'tap'
import { chatEvent, DONE, hang, json, stream } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { relaysAnything } from '../helpers/emitted.js'
import { formOf, sending } from '../helpers/forms.js'
import { CALLER, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { ledgerRecords } from '../helpers/ledger-records.js'
import { seeded } from '../helpers/random.js'
import { type Answer, connectRaw, type RequestOptions, requestBytes } from '../helpers/raw-client.js'
import { type Peer, type RawUpstream, type Script, startRawUpstream } from '../helpers/raw-upstream.js'

// Events here are cut short.
relaysAnything()

const USAGE = { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 }
const whole = (content: string): Script =>
  json({
    ...{ id: 'c', object: 'chat.completion', created: 1, model: 'm', usage: USAGE },
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
  })
const LAST = `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}\n\n`

/** Answers as the request asks for it. */
const well =
  (content: string): Script =>
  peer =>
    isStream(peer) ? stream([chatEvent(content), LAST, DONE])(peer) : whole(content)(peer)

const isStream = (peer: Peer): boolean => (peer.request.json() as { stream?: boolean }).stream === true

const refuses: Script = json({ error: { message: 'no' } }, { status: 503 })

/** A script that waits until it is released. */
function held(script: Script): { readonly script: Script; release(): void } {
  let release = (): void => undefined
  const released = new Promise<void>(resolve => {
    release = resolve
  })
  const late: Script = async peer => {
    await released
    await script(peer)
  }
  return { script: late, release: () => release() }
}

/** As long as it takes to look several times whether a hedge is due: then none is made. */
async function severalLooks(): Promise<void> {
  for (let look = 0; look < 5; look++) await new Promise(resolve => setTimeout(resolve, 50))
}

interface Stage {
  readonly gateway: TestGateway
  readonly upstreams: readonly RawUpstream[]
}

const CALLS = [
  'chat: POST /v1/chat/completions',
  'images.generations: POST /v1/images/generations',
  'transcriptions: POST /v1/audio/transcriptions',
  'realtime: "GET /v1/realtime?model={model}"',
].join(', ')

interface More {
  /** Of the file, besides `upstreams`, `models` and keys. */
  readonly file?: string
  /** Members of each upstream. */
  readonly upstream?: string
  readonly models?: string
}

/** The model `m` with these settings, at as many targets as there are scripts. */
async function stage(t: Test, scripts: readonly Script[], settings: string, more: More = {}): Promise<Stage> {
  const { file = '', upstream: members = `speaks: { ${CALLS} }`, models = '' } = more
  const upstreams: RawUpstream[] = []
  for (const script of scripts) {
    const upstream = await startRawUpstream(t)
    upstream.answer(script)
    upstreams.push(upstream)
  }
  const named = upstreams.map(({ origin }, index) => `  u${index}: { base: "${origin}", ${members} }\n`).join('')
  const targets = upstreams.map((_, index) => `u${index}`).join(', ')
  const known = `models:\n  m: { targets: [${targets}], ${settings} }\n${models}`
  const caller = file.includes('keys:') ? '' : `${CALLER}\n`
  const text = `version: 1\n${caller}health: off\nupstreams:\n${named}${known}${file}`
  return { gateway: await startTestGateway(t, text), upstreams }
}

const counts = ({ upstreams }: Stage): readonly number[] => upstreams.map(({ requests }) => requests.items.length)

type Lane = (gateway: TestGateway) => Promise<Answer>
const MESSAGES = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] }
const LANES: Readonly<Record<string, Lane>> = {
  'a relayed stream': gateway => gateway.chat({ stream: true }),
  'a relayed answer': gateway => gateway.chat(),
  'a translated stream': gateway => gateway.request('/v1/messages', { body: { ...MESSAGES, stream: true } }),
  'a translated answer': gateway => gateway.request('/v1/messages', { body: MESSAGES }),
}

/** One for all of these: a gateway each would take most of their time. */
const shared = await stage(t, [hang, hang, hang], 'hedge: { after: 100ms }, retry: { budget: 100% }')

/** What a client gets where the targets do this, and how often each is asked. */
async function asking(lane: Lane, ...scripts: readonly Script[]) {
  const before = counts(shared)
  const closed = shared.upstreams.map(({ closes }) => closes.items.length)
  shared.upstreams.forEach((upstream, index) => void upstream.answer(scripts[index] ?? well('from c')))
  const answer = await lane(shared.gateway)
  return {
    answer,
    asked: counts(shared).map((count, index) => count - (before[index] ?? 0)),
    closes: async (index: number) => {
      await shared.upstreams[index]?.closes.count((closed[index] ?? 0) + 1)
    },
  }
}

for (const [lane, ask] of Object.entries(LANES)) {
  t.test(`F-U3 hedge, ${lane}: beside a target that hangs a second one is asked, and answers`, async t => {
    const { answer, asked, closes } = await asking(ask, hang, well('from b'))
    t.equal(answer.status, 200)
    t.match(answer.text, 'from b')
    t.same(asked, [1, 1, 0])
    await closes(0)
    const id = answer.header('x-request-id')
    t.match(await shared.gateway.log.find(line => line.msg === 'request' && line.id === id), {
      attempts: [
        { upstream: 'u0', phase: 'cancelled' },
        { upstream: 'u1', phase: 'ok', hedge: true },
      ],
    })
  })

  t.test(`F-U3 hedge, ${lane}: the first target may still be the first to answer; the hedge is cancelled`, async t => {
    const slow = held(well('from a'))
    const other: Script = peer => {
      slow.release()
      return hang(peer)
    }
    const { answer, asked, closes } = await asking(ask, slow.script, other)
    t.equal(answer.status, 200)
    t.match(answer.text, 'from a')
    t.same(asked, [1, 1, 0])
    await closes(1)
  })

  t.test(`F-U3 hedge, ${lane}: one that fails does not end the call while the other lives`, async t => {
    const slow = held(well('from a'))
    const other: Script = async peer => {
      await refuses(peer)
      slow.release()
    }
    const { answer, asked } = await asking(ask, slow.script, other)
    t.equal(answer.status, 200)
    t.match(answer.text, 'from a')
    t.same(asked, [1, 1, 0])
  })

  t.test(`F-U3 hedge, ${lane}: the first target may fail while the hedge lives`, async t => {
    const [slow, late] = [held(refuses), held(well('from b'))]
    const first: Script = async peer => {
      await slow.script(peer)
      late.release()
    }
    const other: Script = peer => {
      slow.release()
      return late.script(peer)
    }
    const { answer, asked } = await asking(ask, first, other)
    t.equal(answer.status, 200)
    t.match(answer.text, 'from b')
    t.same(asked, [1, 1, 0])
  })

  t.test(`F-U3 hedge, ${lane}: where both fail, the next target is asked, within retry.attempts`, async t => {
    const slow = held(refuses)
    const other: Script = async peer => {
      await refuses(peer)
      slow.release()
    }
    const { answer, asked } = await asking(ask, slow.script, other)
    t.match(answer.text, 'from c')
    t.same(asked, [1, 1, 1])
  })
}

t.test('F-U11 hedge: retry.attempts counts it', async t => {
  const [one, other] = [held(refuses), held(refuses)]
  const asked: Script = async peer => {
    one.release()
    await one.script(peer)
    other.release()
  }
  const staged = await stage(t, [other.script, asked, well('c')], 'hedge: { after: 100ms }, retry: { attempts: 2 }')
  t.equal((await staged.gateway.chat()).status, 503)
  t.same(counts(staged), [1, 1, 0])
  const alone = await stage(
    t,
    [hang, well('b')],
    'hedge: { after: 50ms }, retry: { attempts: 1 }, timeouts: { first_byte: 300ms }',
  )
  t.equal((await alone.gateway.chat()).status, 504)
  t.same(counts(alone), [1, 0])
})

t.test('F-U11 hedge: no more of them than the retry budget of the slow upstream allows', async t => {
  const slow = held(well('from a'))
  const staged = await stage(t, [slow.script, well('from b')], 'hedge: { after: 50ms }, retry: { budget: 1% }')
  const answers = Array.from({ length: 15 }, () => staged.gateway.chat())
  await staged.upstreams[0]?.requests.count(15)
  await staged.upstreams[1]?.requests.count(10)
  await severalLooks()
  slow.release()
  const texts = (await Promise.all(answers)).map(({ text }) => (text.includes('from a') ? 'a' : 'b'))
  t.same(texts.sort().join(''), 'aaaaabbbbbbbbbb')
  t.same(counts(staged), [15, 10])
})

const PRICES = 'prices: { m: { input: 1000, output: 1000 } }\n'
const key = (limits: string): string =>
  `keys: { caller: { secret: { env: CALLER_KEY }, limits: { ${limits} } } }\n${PRICES}`

t.test('F-A8 hedge: both attempts are charged for what they used, once each', async t => {
  const staged = await stage(t, [hang, well('from b')], 'hedge: { after: 100ms }', { file: key('budget: 100 USD/day') })
  const lean = { max_tokens: 100 }
  t.equal((await staged.gateway.chat(lean)).status, 200)
  const records = await ledgerRecords(staged.gateway)
  t.same(records.map(({ upstream, outcome }) => [upstream, outcome]).sort(), [
    ['u0', 'cancelled'],
    ['u1', 'ok'],
  ])
  t.equal(new Set(records.map(({ id }) => id)).size, 2)
  t.match(
    records.find(({ upstream }) => upstream === 'u1'),
    { units: { input: 10, output: 20 }, cost: 30_000 },
  )
  const given = records.find(({ upstream }) => upstream === 'u0')
  t.ok(
    given?.units.input !== undefined && given.units.output === undefined,
    'the input alone of the one that was given up',
  )
})

t.test(
  'F-A8 hedge: a budget that has room for one attempt alone has no hedge, and the first attempt continues',
  async t => {
    const settings = 'hedge: { after: 50ms }'
    const slow = held(well('from a'))
    const staged = await stage(t, [slow.script, well('from b')], settings, { file: key('budget: 0.3 USD/day') })
    const answer = staged.gateway.chat({ max_tokens: 100 })
    await staged.upstreams[0]?.requests.count(1)
    await staged.gateway.chat({ stream: true, max_tokens: 100 }).then(({ status }) => t.equal(status, 429))
    await severalLooks()
    slow.release()
    t.match((await answer).text, 'from a')
    t.same(counts(staged), [1, 0])
  },
)

t.test('F-U3 hedge: it never waits in a queue: where its target has no room, none is made, then or later', async t => {
  const [slow, busy] = [held(well('from a')), held(well('busy'))]
  const staged = await stage(t, [slow.script, busy.script], 'hedge: { after: 50ms }', {
    upstream: `speaks: { ${CALLS} }, limits: { in_flight: 1, queue: 60s }`,
    models: '  full: u1\n',
  })
  const occupies = staged.gateway.chat({ model: 'full' })
  await staged.upstreams[1]?.requests.count(1)
  const answer = staged.gateway.chat()
  await staged.upstreams[0]?.requests.count(1)
  await severalLooks()
  // A request does wait there, and has the room as soon as there is some.
  const waits = staged.gateway.chat({ model: 'full' })
  busy.release()
  t.same(
    (await Promise.all([occupies, waits])).map(({ status }) => status),
    [200, 200],
  )
  await severalLooks()
  slow.release()
  t.match((await answer).text, 'from a')
  t.same(counts(staged), [1, 2])
})

t.test('hedge: p95 knows the time of a target after twenty answers', async t => {
  const staged = await stage(t, [well('from a'), well('from b')], 'hedge: { after: p95 }, timeouts: { first_byte: 5s }')
  for (let one = 0; one < 20; one++) await staged.gateway.chat()
  staged.upstreams[0]?.answer(hang)
  const { text } = await staged.gateway.chat()
  t.match(text, 'from b')
})

/** A WebSocket handshake, which the upstream refuses in the end. */
const HANDSHAKE: RequestOptions = {
  method: 'GET',
  headers: {
    ...{ connection: 'Upgrade', upgrade: 'websocket' },
    ...{ 'sec-websocket-version': '13', 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' },
  },
}
const FORM = sending(formOf(['model', 'm'], ['file', Buffer.from('RIFF'), 'audio/wav']))
const FILM = { id: 'video_1', object: 'video', created_at: 1, status: 'failed', model: 'm', seconds: '4', progress: 0 }

/** What is asked of one target alone, and what that answers in the end. */
const NEVER: Readonly<
  Record<string, readonly [path: string, options: RequestOptions, script: Script, status: number]>
> = {
  images: [
    '/v1/images/generations',
    { body: { model: 'm', prompt: 'a cat' } },
    json({ created: 1, data: [{ b64_json: 'aGk=' }] }),
    200,
  ],
  uploads: ['/v1/audio/transcriptions', FORM, json({ text: 'from a' }), 200],
  tunnels: ['/v1/realtime?model=m', HANDSHAKE, json({ error: { message: 'no' } }, { status: 403 }), 502],
  tasks: ['/v1/videos', { body: { model: 'm', prompt: 'a cat' } }, json(FILM), 200],
}

for (const [what, [path, options, script, status]] of Object.entries(NEVER)) {
  t.test(`hedge: ${what} are never asked for twice`, async t => {
    const slow = held(script)
    const more = what === 'tasks' ? { upstream: 'kind: openai, secret: { env: UPSTREAM_KEY }' } : {}
    const staged = await stage(t, [slow.script, script], 'hedge: { after: 50ms }', more)
    const answer = staged.gateway.request(path, options)
    await staged.upstreams[0]?.requests.count(1)
    await severalLooks()
    t.same(counts(staged), [1, 0])
    slow.release()
    t.equal((await answer).status, status)
    t.equal(staged.upstreams[1]?.requests.items.length, 0)
  })
}

t.test(
  'F-C1 hedge: clients that leave at any moment leave nothing behind, and each attempt is settled once',
  async t => {
    const random = seeded(7)
    const sometime =
      (script: Script): Script =>
      async peer => {
        await new Promise(resolve => setTimeout(resolve, random() * 250))
        await script(peer)
      }
    const scripts = [sometime(well('a')), sometime(well('b'))]
    const staged = await stage(t, scripts, 'hedge: { after: 50ms }, retry: { budget: 100% }', {
      file: key('budget: 100 USD/day'),
    })
    const ask = async (number: number): Promise<void> => {
      const { origin, key } = staged.gateway
      const client = await connectRaw(t, origin)
      const body = { ...MESSAGES, stream: number % 2 === 0, max_tokens: 100 }
      await client.send(requestBytes(origin, '/v1/chat/completions', { body, key }))
      if (number % 5 === 0) await client.answer()
      else await new Promise(resolve => setTimeout(resolve, random() * 300))
      client.socket.destroy()
    }
    await Promise.all(Array.from({ length: 80 }, (_, number) => ask(number)))
    const isLine = (line: { readonly msg?: unknown }): boolean => line.msg === 'request'
    for (let look = 0; look < 200 && staged.gateway.log.items.filter(isLine).length < 80; look++) {
      await new Promise(resolve => setTimeout(resolve, 20))
    }
    const lines = staged.gateway.log.items.filter(isLine)
    t.equal(lines.length, 80)
    const outcomes = new Set(lines.map(({ outcome }) => outcome))
    t.ok(outcomes.has('client_abort') && outcomes.has('ok'), [...outcomes].join(' '))
    const records = await ledgerRecords(staged.gateway)
    t.equal(new Set(records.map(({ id }) => id)).size, records.length)
  },
)

proveNoLeak(t)

t.test('after a hedge that failed, the answer says what was not sent to the target that gave it', async t => {
  for (const [members, dropped] of [
    ['{ provider: drop }', 'provider'],
    ['{ provider: pass }', undefined],
  ] as const) {
    const slow = held(well('from a'))
    const other: Script = async peer => {
      await refuses(peer)
      slow.release()
    }
    const rules = members.includes('drop') ? '{ provider: pass }' : '{ provider: drop }'
    const upstreams = [await startRawUpstream(t), await startRawUpstream(t)]
    upstreams[0]?.answer(slow.script)
    upstreams[1]?.answer(other)
    const named = upstreams.map(({ origin }, at) => {
      return `  u${at}: { base: "${origin}", speaks: { ${CALLS} }, members: ${at === 0 ? members : rules} }\n`
    })
    const model = 'models:\n  m: { targets: [u0, u1], hedge: { after: 50ms }, retry: { budget: 100% } }\n'
    const text = `version: 1\n${CALLER}\nhealth: off\nupstreams:\n${named.join('')}${model}`
    const gateway = await startTestGateway(t, text)
    const answer = await gateway.chat({ provider: { order: ['x'] } })
    t.equal(answer.status, 200)
    t.equal(upstreams[1]?.requests.items.length, 1)
    t.equal(answer.header('x-gateway-dropped'), dropped)
  }
})
