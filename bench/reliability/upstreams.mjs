// Goals about upstreams that fail, and about clients that leave them.

import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { folder, rss, startNginx, stop } from '../processes.mjs'
import { median } from '../report.mjs'
import {
  ask,
  blackHole,
  CALLER,
  chat,
  deadOrigin,
  gateway,
  inTurns,
  keeping,
  quantile,
  root,
  STALLED,
  said,
  settled,
  UPSTREAM_SECRET,
  upstream,
  wait,
  yaml,
} from './stage.mjs'

// The upstream of these measurements writes text; aborts of converse, whose streams are binary, are in test/faults/translation-flow.test.ts.
const PROTOCOLS = ['chat', 'responses', 'messages', 'generate']
/** Where a client leaves: the model's word, whether it streams, and when it has seen enough. */
const POINTS = [
  ['before the head of a whole answer', 'hang-w', false, text => text === ''],
  ['before the head of a stream', 'hang-s', true, text => text === ''],
  ['after the head, before the first event', 'head-s', true, text => text === ''],
  ['within a stream', 'stall-s', true, text => text.split('said').length > STALLED],
  ['within a whole answer', 'stall-w', false, text => text === ''],
]
const ABORTS = 12
/** Room for what is delivered. */
const LONG = { chat: { max_tokens: 1000 }, messages: { max_tokens: 1000 }, translated: { max_tokens: 1000 } }

const speaking = `
    speaks:
      chat: POST /v1/chat/completions
      responses: POST /v1/responses
      messages: POST /v1/messages
      generate: { call: "POST /v1beta/models/{model}:generateContent", stream: "POST /v1beta/models/{model}:streamGenerateContent?alt=sse" }
`
const pricedYaml = origin => `version: 1
store: { type: file, path: @DATA@ }
keys: { caller: { secret: { env: CALLER }, models: ["*"], limits: { budget: 100000 USD/day } } }
upstreams:
  up:
    base: "${origin}"
    credential: { in: header, name: authorization, scheme: Bearer, secret: { env: UPSTREAM_SECRET } }${speaking}
  translated: { kind: openai-compatible, base: "${origin}", secret: { env: UPSTREAM_SECRET } }
models: { "t-*": translated, "*": up }
prices: { "*": { input: 2.00, output: 8.00 } }
retry: { attempts: 1 }
health: off
`

/** Leaves after the upstream has the request and the client has seen what the point says. Milliseconds until the upstream knew. */
async function leave({ port }, up, protocol, model, isStream, isEnough) {
  const before = up.log.length
  let left
  const done = ask(port, {
    ...said(protocol.replace('translated', 'messages'), model, { stream: isStream, ...LONG[protocol] }),
    send: (req, _, text) => {
      if (left !== undefined || !isEnough(text)) return
      const go = async () => {
        while (up.log.length === before || up.log[before].model === undefined) await wait(1)
        await wait(5)
        left = performance.now()
        req.destroy()
      }
      void go()
    },
  })
  await done
  const entry = up.log[before]
  for (let tries = 0; entry.closed === undefined && tries < 400; tries++) await wait(5)
  return { ms: entry.closed === undefined ? Number.POSITIVE_INFINITY : entry.closed - left, entry }
}

async function aborts(end) {
  const up = await upstream()
  end(up.close)
  const one = await gateway(pricedYaml(up.origin).replace('@DATA@', join(folder, 'aborts')))
  end(() => one.end('SIGKILL'))
  const times = []
  const protocols = [...PROTOCOLS, 'translated']
  for (const protocol of protocols) {
    for (const [, word, isStream, isEnough] of POINTS) {
      const model = protocol === 'translated' ? `t-${word}` : `${word}-${protocol}`
      for (let i = 0; i < ABORTS; i++) times.push((await leave(one, up, protocol, model, isStream, isEnough)).ms)
    }
  }
  const lines = await settled(one, times.length)
  await one.end()
  const args = [root('bin/gateway.js'), 'spend', one.file, '--by', 'model', '--format', 'json']
  const env = { PATH: process.env.PATH, CALLER, UPSTREAM_SECRET }
  const spent = JSON.parse(execFileSync(process.execPath, args, { env, encoding: 'utf8' }))
  return { times, lines, spent }
}

let abortsRun
const allAborts = end => {
  abortsRun ??= aborts(end)
  return abortsRun
}

async function measureAborts(end) {
  const { times, lines } = await allAborts(end)
  const [p50, p99] = [quantile(times, 0.5), quantile(times, 0.99)]
  const lost = times.filter(ms => !Number.isFinite(ms)).length
  return {
    figure: `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms; ${times.length - lost} of ${times.length} reached the upstream; ${lines.length} settlements`,
    isMet: p50 <= 5 && p99 <= 50 && lost === 0 && lines.length === times.length,
  }
}

async function measureSpending(end) {
  const { times, spent } = await allAborts(end)
  const sums = spent.groups
  const total = sums.reduce((sum, { requests, failed }) => sum + requests + failed, 0)
  const off = (name, times) => {
    const { requests, units } = sums.find(one => one.name === name)
    return { requests, error: Math.abs((units.output ?? 0) / (STALLED * requests) - 1), isAll: requests === times }
  }
  const errors = [...PROTOCOLS.map(name => [name, `stall-s-${name}`]), ['translated', 't-stall-s']].map(
    ([name, model]) => ({
      name,
      ...off(model, ABORTS),
    }),
  )
  const told = errors.map(({ name, error }) => `${name} ${(100 * error).toFixed(1)} %`).join(', ')
  return {
    figure: `${times.length} aborts, ${total} entries in the ledger; estimates are off by: ${told}`,
    isMet: total === times.length && errors.every(({ error, isAll }) => isAll && error <= 0.02),
  }
}

async function measureAmplification(end) {
  const up = await upstream()
  end(up.close)
  const good = await upstream()
  end(good.close)
  const rule = 'health: { cooldown: 300ms, max_cooldown: 300ms }\n'
  const alone = await gateway(yaml({ first: up.origin }, '{ m: first }', rule))
  end(() => alone.end('SIGKILL'))
  const agent = keeping()
  end(() => agent.destroy())
  up.isDown = true
  const results = await inTurns(1500, 64, () => chat(alone.port, 'm', { agent }))
  const share = up.hits('m') / results.length
  const two = await gateway(yaml({ first: up.origin, good: good.origin }, '{ n: [first, good] }', rule))
  end(() => two.end('SIGKILL'))
  const from = up.hits('n')
  let opened = 0
  for (let i = 1; i <= 20; i++) {
    await chat(two.port, 'n', { agent })
    if (up.hits('n') - from === i) opened = i
  }
  up.isDown = false
  const back = performance.now()
  const hits = up.hits('n')
  while (up.hits('n') < hits + 2 && performance.now() - back < 5000) await chat(two.port, 'n', { agent })
  const closed = performance.now() - back
  return {
    figure: `amplification ${share.toFixed(2)}; open after ${opened} requests, closed ${Math.round(closed)} ms after the upstream was back`,
    isMet: share <= 1.2 && opened <= 20 && closed <= 1000,
  }
}

async function measureFailover(end) {
  const up = await upstream()
  end(up.close)
  const hole = await blackHole()
  end(hole.close)
  const dead = await deadOrigin()
  const nginx = await startNginx(new URL(dead).port)
  if (nginx !== undefined) end(() => stop(nginx))
  const places = {
    healthy: up.origin,
    // What this machine makes of the same.
    alike: up.origin,
    dead,
    blackholed: hole.origin,
    ...(nginx !== undefined && { nginx: `http://127.0.0.1:${nginx.port}` }),
  }
  const lines = Object.entries({ ...places, second: up.origin }).map(
    ([name, origin]) => `${name}: { kind: openai-compatible, base: "${origin}", secret: { env: UPSTREAM_SECRET } }`,
  )
  const models = Object.keys(places).map(name => `${name}: [${name}, second]`)
  models.push('simulator: [{ upstream: simulator, as: "sim-text?status=503" }, second]')
  const text = `version: 1
store: { type: memory }
keys: { caller: { secret: { env: CALLER }, models: ["*"] } }
upstreams:
  ${lines.join('\n  ')}
  simulator: { kind: simulator }
models: { ${models.join(', ')} }
timeouts: { connect: 200ms }
health: { cooldown: 60s, max_cooldown: 60s }
`
  const one = await gateway(text)
  end(() => one.end('SIGKILL'))
  const agent = keeping()
  end(() => agent.destroy())
  const names = [...Object.keys(places), 'simulator']
  const bad = names.slice(2)
  let errors = 0
  for (const name of names)
    for (let i = 0; i < 5; i++) if ((await chat(one.port, name, { agent })).status !== 200) errors++
  // In turn, another one first each time, so that what else the machine does weighs on all alike..
  const rounds = Array.from({ length: 11 }, () => Object.fromEntries(names.map(name => [name, []])))
  for (const times of rounds) {
    for (let i = 0; i < 100; i++) {
      const first = i % names.length
      for (const name of [...names.slice(first), ...names.slice(0, first)]) {
        const { status, ms } = await chat(one.port, name, { agent })
        if (status !== 200) errors++
        times[name].push(ms)
      }
    }
  }
  const ratio = (name, share) =>
    median(rounds.map(times => quantile(times[name], share) / quantile(times.healthy, share)))
  const count = names.length * (5 + 100 * rounds.length)
  const asked = (await settled(one, count)).filter(({ attempts }) => attempts !== undefined).length
  const told = names
    .slice(1)
    .map(name => `${name} p50 × ${ratio(name, 0.5).toFixed(2)}, p99 × ${ratio(name, 0.99).toFixed(2)}`)
  return {
    figure: `${errors} errors; after the 5th request ${told.join('; ')}; of ${count} requests ${asked} tried a bad target`,
    isMet:
      errors === 0 &&
      asked === 5 * bad.length &&
      bad.every(name => ratio(name, 0.99) <= 1.2 * Math.max(1, ratio('alike', 0.99))),
  }
}

/** MiB of the process at the peak, beside what it had, and MiB of the upload that left this process. */
async function measureUploads(end) {
  const sockets = new Set()
  const server = createServer({ pauseOnConnect: true }, socket => sockets.add(socket.on('error', () => undefined)))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  end(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  const one = await gateway(
    yaml({ stuck: `http://127.0.0.1:${server.address().port}` }, '{ m: stuck }').replace('openai-compatible', 'openai'),
  )
  end(() => one.end('SIGKILL'))
  await inTurns(500, 16, () => ask(one.port, { path: '/v1/models', method: 'GET' }))
  const calm = rss(one)
  const upload = connect(one.port, '127.0.0.1').on('error', () => undefined)
  end(() => upload.destroy())
  const edge = 'b1c2d3'
  const begin = `--${edge}\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nbatch\r\n--${edge}\r\ncontent-disposition: form-data; name="file"; filename="a.jsonl"\r\ncontent-type: application/json\r\n\r\n`
  const size = 2 ** 30
  let refusal = ''
  upload.on('data', bytes => {
    refusal += bytes
  })
  upload.write(
    `POST /v1/files HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${CALLER}\r\ncontent-type: multipart/form-data; boundary=${edge}\r\ncontent-length: ${begin.length + size}\r\n\r\n${begin}`,
  )
  const piece = Buffer.alloc(65_536, 'x')
  let peak = 0
  for (let waits = 0; waits < 100; ) {
    if (refusal !== '' || upload.destroyed) throw new Error(`the upload was refused: ${refusal}`)
    if (!upload.write(piece)) {
      waits++
      await wait(20)
    }
    peak = Math.max(peak, rss(one) - calm)
  }
  return { mib: peak, sent: (upload.bytesWritten - upload.writableLength) / 2 ** 20 }
}

const READERS = 300

/** KiB of the process for each further stream whose client does not read, of an upstream that pushes. */
async function measureReaders(end) {
  const up = await upstream()
  end(up.close)
  const one = await gateway(yaml({ up: up.origin }, '{ "*": up }'))
  end(() => one.end('SIGKILL'))
  const body = JSON.stringify(said('chat', 'push', { stream: true }).body)
  const request = `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${CALLER}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
  let opened = 0
  const open = async count => {
    for (let i = 0; i < count; i++) {
      const socket = connect(one.port, '127.0.0.1').on('error', () => undefined)
      end(() => socket.destroy())
      socket.write(request)
    }
    opened += count
    for (let tries = 0; up.hits('push') < opened && tries < 200; tries++) await wait(25)
    let peak = 0
    for (let tries = 0; tries < 30; tries++) {
      await wait(50)
      peak = Math.max(peak, rss(one))
    }
    return peak
  }
  // What the process takes once is not of any stream.
  const calm = await open(READERS / 3)
  const peak = await open((2 * READERS) / 3)
  return { kib: ((peak - calm) * 1024) / ((2 * READERS) / 3), streams: up.hits('push') }
}

export const goals = [
  {
    id: 'G2',
    title: 'a client that leaves is heard upstream',
    goal: 'p50 ≤ 5 ms, p99 ≤ 50 ms, all of 25,000; one settlement each',
    how: `${ABORTS} aborts at each of 5 points in 4 relayed protocols and a translated one, one after the other; both ends of one clock`,
    measure: measureAborts,
  },
  {
    id: 'G3',
    title: 'spending after aborts',
    goal: '0 unbilled, 0 billed twice, estimates off by ≤ 2 %',
    how: 'the same aborts: those within a stream had 120 words delivered, and no usage from the upstream but that of the first event (`messages`: one token)',
    measure: measureSpending,
  },
  {
    id: 'G7',
    title: 'slow readers, and uploads that no one reads',
    goal: '≤ 256 KiB a stream at 1,000 slow readers; ≤ 8 MiB beside an upload of 1 GiB',
    how: `${READERS} clients that read nothing of a stream that is pushed: what the last two thirds of them add; a file sent for 2 seconds to an upstream that reads nothing. More of both: \`npm run bench:readers\`, \`npm run bench:files\``,
    measure: async end => {
      const { kib, streams } = await measureReaders(end)
      const { mib, sent } = await measureUploads(end)
      return {
        figure: `${kib.toFixed(0)} KiB for each of ${streams} streams; ${mib.toFixed(1)} MiB beside the upload, of which ${sent.toFixed(1)} MiB were taken`,
        isMet: kib <= 256 && mib <= 8,
      }
    },
  },
  {
    id: 'G11',
    title: 'repetitions at an upstream that fails',
    goal: 'amplification ≤ 1.20; open after ≤ 20 requests; closed ≤ 1 s after it is back',
    how: '1,500 requests to a single target that answers 503, then two targets; counted at the upstream; `cooldown: 300ms`',
    measure: measureAmplification,
  },
  {
    id: 'G12',
    title: 'a dead or blackholed first target of two',
    goal: '0 errors; p99 of the requests after the 5th ≤ 1.2 × that of a healthy target',
    how: 'medians of 11 rounds of 100 requests to each model in turn, beside a healthy one; `alike` is another healthy one, the worse of both counts. First targets: a port without a listener; a listener whose backlog is full; nginx, whose own upstream is dead; the simulator, which answers 503',
    measure: measureFailover,
  },
]
