// Goals about clients that are many, slow, hostile or not who they say.
import { execFileSync } from 'node:child_process'
import { connect } from 'node:net'
import { join } from 'node:path'
import { LAST, numbered, PAYLOADS } from '../../.test-build/test/helpers/smuggling-payloads.js'
import { SSRF_URLS } from '../../.test-build/test/net/ssrf-urls.js'
import { cpu, folder, rss } from '../processes.mjs'
import {
  ask,
  CALLER,
  chat,
  gateway,
  inTurns,
  keeping,
  pressing,
  quantile,
  root,
  said,
  upstream,
  wait,
  yaml,
} from './stage.mjs'

async function staged(end, text, options) {
  const up = await upstream()
  end(up.close)
  const one = await gateway(text(up), options)
  end(() => one.end('SIGKILL'))
  const agent = keeping()
  end(() => agent.destroy())
  return { up, one, agent }
}

function rawRequest(path, body, more = []) {
  const text = JSON.stringify(body)
  const head = [`POST ${path} HTTP/1.1`, 'host: x', `authorization: Bearer ${CALLER}`, 'content-type: application/json']
  return `${[...head, ...more, `content-length: ${text.length}`].join('\r\n')}\r\n\r\n${text}`
}

const IDLE = 1500

async function measureIdle(end) {
  const more = `\nstore: { type: file, path: ${join(folder, 'idle')} }\nworkers: 2\nlimits: { connections: 4000, in_flight: 4000 }\n`
  const { one, up } = await staged(end, up => yaml({ up: up.origin }, '{ "*": up }', more))
  const { readFileSync } = await import('node:fs')
  const workers = readFileSync(`/proc/${one.pid}/task/${one.pid}/children`, 'utf8').split(' ').map(Number)
  const all = workers.filter(pid => pid > 0).map(pid => ({ pid }))
  const sum = figure => all.reduce((total, one) => total + figure(one), 0)
  const request = rawRequest('/v1/chat/completions', said('chat', 'stall', { stream: true }).body)
  let open = 0
  const begin = count =>
    inTurns(count, 50, async () => {
      const socket = connect(one.port, '127.0.0.1').on('error', () => undefined)
      end(() => socket.destroy())
      socket.write(request)
      socket.once('close', () => open--)
      await new Promise(resolve => socket.once('data', resolve))
      open++
    })
  await begin(200)
  const before = sum(rss)
  await begin(IDLE - 200)
  await wait(500)
  const kib = ((sum(rss) - before) * 1024) / (IDLE - 200)
  const used = sum(cpu)
  await wait(2000)
  const share = (sum(cpu) - used) / 2e6
  return {
    figure: `${open} of ${up.hits('stall')} open on ${all.length} workers, ${kib.toFixed(0)} KiB each with all that the process grew by, ${(100 * share).toFixed(1)} % of a core`,
    isMet: open === IDLE && kib <= 64 && share <= 0.1,
  }
}

async function measureFraming(end) {
  const { one, up } = await staged(end, up => yaml({ up: up.origin }, '{ "*": up }'))
  const key = 'caller-of-smuggled-requests-1'
  const other = await gateway(
    yaml({ up: up.origin }, '{ "*": up }', '\nkeys: { caller: { secret: { env: SMUGGLER }, models: ["*"] } }\n'),
    { env: { SMUGGLER: key } },
  )
  end(() => other.end('SIGKILL'))
  await one.end('SIGKILL')
  let refused = 0
  await inTurns(PAYLOADS.length, 16, async at => {
    const socket = connect(other.port, '127.0.0.1').on('error', () => undefined)
    let text = ''
    socket.on('data', bytes => {
      text += bytes.toString('latin1')
    })
    socket.write(numbered(PAYLOADS[at].text, at))
    socket.write(numbered(LAST, at))
    await Promise.race([new Promise(resolve => socket.once('close', resolve)), wait(1500)])
    socket.destroy()
    if (/^HTTP\/1\.1 [45]/.test(text)) refused++
  })
  const smuggled = up.log.filter(({ isHidden }) => isHidden).length
  return {
    figure: `${refused} of ${PAYLOADS.length} refused, ${smuggled} hidden requests reached the upstream`,
    isMet: smuggled === 0,
  }
}

/** Clients that send slowly, of each kind, and those that read nothing. */
const EACH = 200
const SILENT = 5
const ATTACKERS = 2 * EACH + SILENT

async function measureSlow(end) {
  const more =
    'limits: { headers: 2s, upload: 2s, stall: 2s, in_flight: 4000 }\n\nkeys: { caller: { secret: { env: CALLER }, models: ["*"] }, attacker: { secret: { env: ATTACKER }, models: ["*"] } }\n'
  const { one, agent } = await staged(end, up => yaml({ up: up.origin }, '{ "*": up }', more), {
    env: { ATTACKER: 'attacker-canary-5d1e9b' },
  })
  const healthy = async ms => {
    const run = pressing(2, () => chat(one.port, 'm', { agent }))
    await wait(ms)
    return run.stop()
  }
  await healthy(500)
  const calm = await healthy(1500)
  const body = rawRequest('/v1/chat/completions', said('chat', 'm').body)
  const modes = [
    body.slice(0, 60),
    body.slice(0, -5),
    rawRequest('/v1/chat/completions', said('chat', 'push', { stream: true }).body),
  ]
  let alive = 0
  const since = performance.now()
  let gone = 0
  for (const [mode, bytes] of modes.entries()) {
    for (let i = 0; i < (mode === 2 ? SILENT : EACH); i++) {
      const socket = connect(one.port, '127.0.0.1').on('error', () => undefined)
      end(() => socket.destroy())
      alive++
      let at = mode === 2 ? bytes.length : bytes.length - 30
      socket.write(bytes.slice(0, at))
      const timer = setInterval(() => {
        if (at < bytes.length) socket.write(bytes[at++])
        // One that reads nothing notices its end only when it writes.
        else if (mode === 2) socket.write('x')
      }, 300)
      socket.on('close', () => {
        clearInterval(timer)
        alive--
        gone = performance.now() - since
      })
      if (mode !== 2) socket.resume()
    }
  }
  await wait(300)
  const during = await healthy(2000)
  while (alive > 0 && performance.now() - since < 12_000) await wait(50)
  const p99 = results =>
    quantile(
      results.map(({ ms }) => ms),
      0.99,
    )
  const failed = during.filter(({ status }) => status !== 200).length
  const ratio = p99(during) / p99(calm)
  return {
    figure: `${failed} of ${during.length} healthy requests failed, p99 × ${ratio.toFixed(2)}; ${ATTACKERS - alive} of ${ATTACKERS} attackers gone after ${(gone / 1000).toFixed(1)} s`,
    isMet: failed === 0 && ratio <= 2 && alive === 0 && gone <= 10_000,
  }
}

async function measureAddresses(end) {
  const hits = []
  const { createServer } = await import('node:http')
  const server = createServer((request, response) => {
    hits.push(request.url)
    response.end('x')
  })
  server.listen(0, '0.0.0.0')
  await new Promise(resolve => server.once('listening', resolve))
  end(() => server.close())
  const { port } = server.address()
  const textOf = ({ origin }) => `version: 1
store: { type: memory }
keys: { caller: { secret: { env: CALLER }, models: ["*"] } }
upstreams: { up: { base: "${origin}", speaks: { chat: POST /v1/chat/completions }, traits: { fetches_urls: false, max_output: 100 } } }
models: { "*": up }
media: { fetch: { http: true, allow: ["*", 127.0.0.99/32], ports: [${port}] } }
`
  const { one } = await staged(end, textOf)
  const named = url => {
    const content = [{ type: 'image', source: { type: 'url', url } }]
    return ask(one.port, { ...said('messages', 'm', { messages: [{ role: 'user', content }] }) })
  }
  const results = await inTurns(SSRF_URLS.length, 8, at => named(SSRF_URLS[at](port)))
  const passed = results.filter(({ status }) => status === 200).length
  const connections = hits.length
  // The one inner address that is allowed by name: the listener would have noticed the others.
  await named(`http://127.0.0.99:${port}/a.png`)
  const isListening = hits.length > connections
  const paths = ['..', '%2e%2e', '..%2f..', '%252e', '/etc/passwd', '%00', 'a/../b', '..;', '%c0%ae', '\\..']
  const walked = await inTurns(paths.length, 4, at => ask(one.port, { path: `/v1/files/${paths[at]}`, method: 'GET' }))
  const bad = walked.filter(({ status }) => status === 200).length
  return {
    figure: `${connections} connections for ${results.length} addresses of this machine, ${results.length - passed} refused; an address that is allowed connects: ${isListening}; ${bad} of ${walked.length} paths let through`,
    isMet: connections === 0 && passed === 0 && isListening && bad === 0,
  }
}

async function measureKeys(end) {
  const spare = name => `\nkeys: { caller: { secret: { env: CALLER }, models: ["*"] }${name} }\n`
  const more = `\nstore: { type: file, path: ${join(folder, 'keys')} }\nworkers: 2\n`
  const textOf = name => up => yaml({ up: up.origin }, '{ "*": up }', more + spare(name))
  const { one, up } = await staged(end, textOf(', other: { secret: { env: OTHER }, models: ["*"] }'), {
    env: { OTHER: 'other-canary-83b1c5d9' },
  })
  await inTurns(20, 4, () => chat(one.port, 'm', { key: 'other-canary-83b1c5d9' }))
  one.write(textOf('')(up))
  const since = performance.now()
  let last = since
  for (let refused = 0; refused < 20 && performance.now() - since < 8000; ) {
    const { status } = await chat(one.port, 'm', { key: 'other-canary-83b1c5d9' })
    if (status === 401) refused++
    else {
      refused = 0
      last = performance.now()
    }
  }
  const out = execFileSync(process.execPath, [root('bench/keys.mjs'), '--samples=60000', '--times'], {
    encoding: 'utf8',
  })
  const t = Number(/last 8 characters: ([\d.]+)/.exec(out)?.[1])
  return {
    figure: `|t| = ${t.toFixed(2)} of 60,000 guesses; a key that was removed let nothing in ${Math.round(last - since)} ms later, on two workers`,
    isMet: t < 4.5 && last - since <= 1000,
  }
}

async function measureCrossTalk(end) {
  const { one, agent } = await staged(end, up => yaml({ up: up.origin }, '{ "*": up }'))
  const mixed = []
  let aborted = 0
  const results = await inTurns(8000, 48, async at => {
    const canary = `canary-${at}-${Math.random().toString(36).slice(2)}`
    const stream = at % 2 === 0
    const isLeaving = at % 5 === 0
    const answer = await ask(one.port, {
      ...said('chat', 'm', { stream, user: canary }),
      agent,
      send: (req, _, text) => {
        if (!isLeaving || (stream ? text === '' : at % 10 === 5)) return
        aborted++
        req.destroy()
      },
    })
    const found = answer.text.match(/canary-\d+-[0-9a-z]+/g) ?? []
    if (found.some(one => one !== canary) || (answer.status === 200 && found.length === 0)) mixed.push(at)
    return answer
  })
  return { figure: `${mixed.length} mixed up of ${results.length}, ${aborted} aborted`, isMet: mixed.length === 0 }
}

export const goals = [
  {
    id: 'G8',
    title: 'silent streams',
    goal: '10,000 on 2 workers: ≤ 64 KiB each, CPU ≤ 10 % of a core',
    how: `${IDLE} streams on two workers that say nothing after their first events; 10,000: \`npm run bench:idle\``,
    measure: measureIdle,
  },
  {
    id: 'G18',
    title: 'framing of HTTP',
    goal: '0 requests smuggled',
    how: `the ${PAYLOADS.length} messages of \`test/helpers/smuggling-payloads\` on raw sockets; behind nginx and haproxy, and WebSockets: \`npm run test:faults -- F-C9 F-W3\``,
    measure: measureFraming,
  },
  {
    id: 'G22',
    title: 'addresses that a client names',
    goal: '0 of ≥ 150 encodings connect; 0 of 60 paths walk',
    how: `${SSRF_URLS.length} spellings of this machine as an image's URL, with fetching on and all hosts allowed; a listener counts`,
    measure: measureAddresses,
  },
  {
    id: 'G23',
    title: 'key checks',
    goal: '|t| < 4.5 of 1,000,000; a removed key ≤ 1 s on all workers',
    how: '60,000 guesses (`npm run bench:keys`: all); a key leaves the file, from then to the last request that it let in',
    measure: measureKeys,
  },
  {
    id: 'G24',
    title: 'slow clients',
    goal: 'healthy clients: all served, p99 ≤ 2 ×; attackers gone ≤ 10 s',
    how: '200 connections that send a head slowly, 200 a body, 5 that read nothing, instead of 5,000 each; `headers`, `upload` and `stall` 2 s',
    measure: measureSlow,
  },
  {
    id: 'G26',
    title: 'answers of others',
    goal: '0 of 1,000,000 mixed up, 20 % aborted',
    how: '8,000 requests with a canary each, half of them streams',
    measure: measureCrossTalk,
  },
]
