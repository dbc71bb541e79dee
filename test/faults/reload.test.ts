import { mkdirSync, renameSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { brokenStream, CHAT_ANSWER, chatEvent, chunk, DONE, json, LAST_CHUNK } from '../helpers/answers.js'
import { canary, proveNoLeak } from '../helpers/canaries.js'
import { CALLER, CHAT, oneUpstream, startTestGateway, type TestGateway, upstreamYaml } from '../helpers/gateway.js'
import { Journal, withResolvers } from '../helpers/journal.js'
import { type RawUpstream, startRawUpstream } from '../helpers/raw-upstream.js'

async function running(t: Test, watch = false): Promise<{ upstream: RawUpstream; gateway: TestGateway; yaml: string }> {
  const upstream = await startRawUpstream(t)
  upstream.answer(json(CHAT_ANSWER))
  const yaml = oneUpstream(upstream.origin)
  return { upstream, yaml, gateway: await startTestGateway(t, yaml, { watch }) }
}

async function models(gateway: TestGateway): Promise<string[]> {
  const answer = await gateway.request('/v1/models')
  return (answer.json() as { data: { id: string }[] }).data.map(model => model.id)
}

const literal = canary('upstream')

/** Broken in one way each; the rule is how the problem is named. */
const BROKEN: readonly (readonly [string, (yaml: string) => string | Buffer])[] = [
  ['broken YAML', yaml => `${yaml}\n  - [`],
  ['an unknown field', yaml => `${yaml}\nmodles: { x: up }\n`],
  ['a dangling reference', yaml => `${yaml.replace('models: { m: up }', 'models: { m: upp }')}`],
  ['a literal secret', yaml => yaml.replace('{ env: UPSTREAM_KEY }', literal)],
  ['a duplicate key', yaml => `${yaml}\nmodels: { n: up }\n`],
  ['a wrong type', yaml => `${yaml}\nlimits: { body: lots }\n`],
  ['a duration without a unit', yaml => `${yaml}\ntimeouts: { idle: 30 }\n`],
  [
    'an alias bomb',
    yaml =>
      `${yaml}\nx: [&a [x,x,x,x,x,x,x,x], &b [*a,*a,*a,*a,*a,*a,*a,*a], &c [*b,*b,*b,*b,*b,*b,*b,*b], &d [*c,*c,*c,*c,*c,*c,*c,*c], [*d,*d,*d,*d,*d,*d,*d,*d]]\n`,
  ],
  ['10 MiB', yaml => `${yaml}\n#${'x'.repeat(10 * 1024 * 1024)}\n`],
  ['bytes that are no UTF-8', yaml => Buffer.concat([Buffer.from(yaml), Buffer.from([0x23, 0xff, 0xfe, 0x0a])])],
  ['nothing at all', () => ''],
  ['a list', () => '- 1\n'],
  ['an include that matches nothing', yaml => `${yaml}\ninclude: [nothing/*.yaml]\n`],
]

for (const [title, breaks] of BROKEN) {
  t.test(`F-R1 a file with ${title} changes nothing: the last good plan serves, the log says where`, async t => {
    const { gateway, yaml } = await running(t)
    const before = gateway.gateway.plan
    const file = join(gateway.folder, 'gateway.yaml')
    writeFileSync(file, breaks(yaml))
    const loaded = await gateway.gateway.reload()
    t.equal(loaded.plan, undefined)
    t.equal(gateway.gateway.plan, before)
    t.equal((await gateway.chat()).status, 200)
    const line = await gateway.log.find(line => line.level === 'error')
    const [problem] = line.problems as { at: string; message: string }[]
    t.match(problem?.at, /gateway\.yaml:\d+:\d+$/)
    t.notMatch(JSON.stringify(line), /node_modules|\.js:\d/, 'no stack')
    t.notMatch(JSON.stringify(loaded.problems), literal)
    const ready = await gateway.request('/readyz?verbose')
    t.equal(ready.status, 200, 'it continues to serve')
    t.match(ready.json(), { config: { valid: false, reloads: { failed: 1 } } })
    t.match(ready.text, /gateway\.yaml:\d+:\d+/)
    t.notMatch(
      (await gateway.request('/readyz?verbose', { key: 'wrong' })).text,
      /gateway\.yaml/,
      'only for those with a key',
    )
    writeFileSync(file, `${yaml}\n# mended\n`)
    await gateway.gateway.reload()
    t.match((await gateway.request('/readyz')).json(), { config: { valid: true } })
  })
}

t.test('F-R1 two hundred mutations: never applied if broken, always reported with a position', async t => {
  const { gateway, yaml } = await running(t)
  const rich = `${yaml}limits: { body: 1MiB }\ntimeouts: { connect: 2s, idle: 30s }\nretry: { attempts: 2, on: [connect, 503] }\nlog: { level: info }\n`
  const file = join(gateway.folder, 'gateway.yaml')
  const marks = [':', '{', '}', '[', '"', '\t', '&a ', '*a', '- ', '!!js ', '\n', '%', '\u0000', 'null', '~']
  let refused = 0
  for (let i = 0; i < 200; i += 1) {
    const at = (i * 7919) % rich.length
    const mark = marks[i % marks.length] ?? ''
    writeFileSync(
      file,
      i % 3 === 0 ? rich.slice(0, at) + rich.slice(at + 1) : rich.slice(0, at) + mark + rich.slice(at),
    )
    const before = gateway.gateway.plan
    const loaded = await gateway.gateway.reload()
    if (loaded.plan !== undefined) continue
    refused += 1
    if (gateway.gateway.plan !== before) t.fail(`mutation ${i} was applied`)
    for (const { position, message } of loaded.problems) {
      const placed =
        position.file.endsWith('gateway.yaml') && position.line >= 1 && position.column >= 1 && message !== ''
      if (!placed) t.fail(`mutation ${i}: ${JSON.stringify(position)} ${message}`)
    }
    if (loaded.problems.length === 0) t.fail(`mutation ${i} was refused without a word`)
  }
  t.ok(refused > 50, `${refused} refused`)
})

t.test('F-R2 reloads under load: no request fails, a stream that is open is untouched', async t => {
  const upstream = await startRawUpstream(t)
  const { promise: enough, resolve: end } = withResolvers<void>()
  upstream.answer(async peer => {
    await brokenStream([chatEvent('first')], () => enough)(peer)
    await peer.send(chunk(DONE))
    await peer.send(LAST_CHUNK)
  }, json(CHAT_ANSWER))
  const gateway = await startTestGateway(t, oneUpstream(upstream.origin))
  const streaming = await gateway.open('/v1/chat/completions', { body: { ...CHAT, stream: true } })
  const head = await streaming.head()
  let loading = true
  const statuses = new Journal<number>('statuses')
  const load = async (): Promise<void> => {
    while (loading) statuses.push((await gateway.chat()).status)
  }
  const workers = [load(), load(), load()]
  for (let i = 1; i <= 40; i += 1) {
    writeFileSync(join(gateway.folder, 'gateway.yaml'), `${oneUpstream(upstream.origin)}# ${i}\n`)
    t.ok((await gateway.gateway.reload()).plan)
    await statuses.count(i * 2)
  }
  loading = false
  await Promise.all(workers)
  t.same(
    statuses.items.filter(status => status !== 200),
    [],
  )
  end()
  const { body, whole } = await streaming.body(head)
  t.equal(body.toString(), chatEvent('first') + DONE)
  t.equal(whole, true)
})

t.test('F-R2 a request keeps the plan that it started with', async t => {
  const { gateway, upstream, yaml } = await running(t)
  const { promise: held, resolve: release } = withResolvers<void>()
  upstream.answer(async peer => {
    await held
    await json(CHAT_ANSWER)(peer)
  })
  const client = await gateway.open('/v1/chat/completions', { body: CHAT })
  await upstream.requests.count(1)
  writeFileSync(join(gateway.folder, 'gateway.yaml'), yaml.replace('models: { m: up }', 'models: { other: up }'))
  await gateway.gateway.reload()
  t.same(await models(gateway), ['other'])
  release()
  t.equal((await client.answer()).status, 200)
  t.equal((await gateway.chat()).status, 404)
})

/** Ways in which editors, scripts and orchestrators replace a file. */
const STYLES: readonly (readonly [string, (file: string, text: string) => void])[] = [
  ['written over', (file, text) => writeFileSync(file, text)],
  [
    'truncated, then written',
    (file, text) => {
      truncateSync(file)
      writeFileSync(file, text)
    },
  ],
  [
    'written beside and renamed',
    (file, text) => {
      writeFileSync(`${file}.tmp`, text)
      renameSync(`${file}.tmp`, file)
    },
  ],
  [
    'deleted and made anew',
    (file, text) => {
      rmSync(file)
      writeFileSync(file, text)
    },
  ],
  [
    'moved away, then made anew',
    (file, text) => {
      renameSync(file, `${file}~`)
      writeFileSync(file, text)
    },
  ],
  [
    'replaced by a link',
    (file, text) => {
      writeFileSync(`${file}.real`, text)
      rmSync(file)
      symlinkSync(`${file}.real`, file)
    },
  ],
]

for (const [title, write] of STYLES) {
  t.test(`F-R3 a file that is ${title} is live soon, and again the next time`, async t => {
    const { gateway, upstream } = await running(t, true)
    for (const model of ['n1', 'n2']) {
      const before = gateway.log.items.filter(line => line.msg === 'reloaded').length
      write(join(gateway.folder, 'gateway.yaml'), oneUpstream(upstream.origin).replace('{ m: up }', `{ ${model}: up }`))
      await gateway.log.count(before + 1, line => line.msg === 'reloaded')
      while (!(await models(gateway)).includes(model)) await new Promise(resolve => setImmediate(resolve))
      t.same(await models(gateway), [model])
    }
  })
}

t.test('F-R3 a folder of links that are swapped at once, as orchestrators mount files', async t => {
  const upstream = await startRawUpstream(t)
  const linked = await startLinked(t, upstream.origin)
  t.same(await models(linked), ['first'])
  mkdirSync(join(linked.folder, 'v2'))
  writeFileSync(join(linked.folder, 'v2/main.yaml'), partial(upstream.origin, 'second'))
  symlinkSync('v2', join(linked.folder, 'live.new'))
  renameSync(join(linked.folder, 'live.new'), join(linked.folder, 'live'))
  await linked.log.find(line => line.msg === 'reloaded')
  t.same(await models(linked), ['second'])
})

/** gateway.yaml includes `current.yaml`, a link through the linked folder `data`. */
async function startLinked(t: Test, origin: string): Promise<TestGateway> {
  const files = { 'v1/main.yaml': partial(origin, 'first'), 'current.yaml': partial(origin, 'first') }
  const gateway = await startTestGateway(t, `version: 1\n${CALLER}\ninclude: [current.yaml]\n`, { files, watch: true })
  symlinkSync('v1', join(gateway.folder, 'live'))
  rmSync(join(gateway.folder, 'current.yaml'))
  symlinkSync('live/main.yaml', join(gateway.folder, 'current.yaml'))
  await gateway.gateway.reload()
  return gateway
}

function partial(origin: string, model: string): string {
  return `upstreams: { up: ${upstreamYaml(origin)} }\nmodels: { ${model}: up }\n`
}

t.test('F-R3 a file that is gone keeps the last good plan until it is back', async t => {
  const { gateway, yaml } = await running(t, true)
  const file = join(gateway.folder, 'gateway.yaml')
  rmSync(file)
  await gateway.log.find(line => line.level === 'error')
  t.equal((await gateway.chat()).status, 200)
  writeFileSync(file, yaml.replace('{ m: up }', '{ back: up }'))
  await gateway.log.find(line => line.msg === 'reloaded')
  t.same(await models(gateway), ['back'])
})

t.test('F-R4 a secret file that is rotated serves the next request, the one in flight keeps the old', async t => {
  const upstream = await startRawUpstream(t)
  const [old, next] = [canary('upstream'), canary('upstream')]
  const { promise: held, resolve: release } = withResolvers<void>()
  upstream.answer(async peer => {
    await held
    await json(CHAT_ANSWER)(peer)
  }, json(CHAT_ANSWER))
  const yaml = oneUpstream(upstream.origin).replace('{ env: UPSTREAM_KEY }', '{ file: secrets/up }')
  const gateway = await startTestGateway(t, yaml, { watch: true, files: { 'secrets/up': `${old}\n` } })
  const client = await gateway.open('/v1/chat/completions', { body: CHAT })
  await upstream.requests.count(1)
  writeFileSync(join(gateway.folder, 'secrets/up.new'), `${next}\n`)
  renameSync(join(gateway.folder, 'secrets/up.new'), join(gateway.folder, 'secrets/up'))
  await gateway.log.find(line => line.msg === 'reloaded')
  t.equal((await gateway.chat()).status, 200)
  release()
  t.equal((await client.answer()).status, 200)
  t.same(
    upstream.requests.items.map(request => request.header('authorization')),
    [`Bearer ${old}`, `Bearer ${next}`],
  )
})

t.test('F-R4 a secret file that is gone switches its upstream off, and the log says so', async t => {
  const { origin } = await startRawUpstream(t)
  const yaml = oneUpstream(origin).replace('{ env: UPSTREAM_KEY }', '{ file: secret }')
  const gateway = await startTestGateway(t, yaml, { files: { secret: canary('upstream') } })
  rmSync(join(gateway.folder, 'secret'))
  await gateway.gateway.reload()
  t.match(await gateway.log.find(line => line.msg === 'an upstream is off'), { level: 'warn', reason: /secret/ })
  writeFileSync(join(gateway.folder, 'secret'), canary('upstream'))
  await gateway.gateway.reload()
  t.match(await gateway.log.find(line => line.msg === 'an upstream is on again'), { upstream: 'up' })
})

t.test("F-R4 a caller's key whose file is gone is reported once, and when it is back", async t => {
  const { origin } = await startRawUpstream(t)
  const two = CALLER.replace('keys: {', 'keys: { batch: { secret: { file: secret }, models: ["*"] },')
  const yaml = oneUpstream(origin).replace(CALLER, two)
  const gateway = await startTestGateway(t, yaml, { files: { secret: canary('caller') } })
  rmSync(join(gateway.folder, 'secret'))
  await gateway.gateway.reload()
  t.match(await gateway.log.find(line => line.msg === 'a key cannot be used'), { level: 'warn', key: 'batch' })
  await gateway.write('gateway.yaml', `${yaml}# edited\n`)
  await gateway.gateway.reload()
  writeFileSync(join(gateway.folder, 'secret'), canary('caller'))
  await gateway.gateway.reload()
  t.match(await gateway.log.find(line => line.msg === 'a key can be used again'), { key: 'batch' })
  t.equal(gateway.log.items.filter(line => line.msg === 'a key cannot be used').length, 1)
})

t.test('F-R1 what a reload warns of is in its line', async t => {
  const { gateway, yaml } = await running(t)
  await gateway.write('gateway.yaml', yaml.replace('models: ["*"]', 'models: [swift]'))
  await gateway.gateway.reload()
  const { warnings } = await gateway.log.find(line => line.msg === 'reloaded')
  t.match(warnings, [{ at: /gateway\.yaml:\d+:\d+$/, message: /no model is called "swift"/ }])
})

t.test(
  "F-R4 F-A10 a caller's key that is rotated: both serve while both are listed, then only the new one",
  async t => {
    const upstream = await startRawUpstream(t)
    upstream.answer(json(CHAT_ANSWER))
    const [old, next] = [canary('caller'), canary('caller')]
    const keys = (secret: string): string => `keys: { caller: { secret: ${secret}, models: ["*"] } }`
    const yaml = oneUpstream(upstream.origin)
    const one = '{ file: key }'
    const gateway = await startTestGateway(t, yaml.replace(CALLER, keys(one)), {
      files: { key: old, 'key.next': next },
    })
    const status = async (key: string): Promise<number> => (await gateway.chat({}, { key })).status
    t.same([await status(old), await status(next)], [200, 401])
    await gateway.write('gateway.yaml', yaml.replace(CALLER, keys('[{ file: key }, { file: key.next }]')))
    await gateway.gateway.reload()
    t.same([await status(old), await status(next)], [200, 200])
    await gateway.write('gateway.yaml', yaml.replace(CALLER, keys('{ file: key.next }')))
    await gateway.gateway.reload()
    t.same([await status(old), await status(next)], [401, 200])
  },
)

t.test('F-R5 what only a restart can change says so; the rest is applied', async t => {
  const { gateway, upstream } = await running(t)
  const { origin } = gateway.gateway
  const store = 'store: { type: file, path: ./elsewhere }\n'
  await gateway.write('gateway.yaml', oneUpstream(upstream.origin, store).replace('{ m: up }', '{ n: up }'))
  await gateway.gateway.reload()
  t.equal(gateway.gateway.origin, origin)
  t.same(await models(gateway), ['n'])
  await gateway.log.find(line => /restart/.test(String(line.msg)) && line.setting === 'store')
  t.same(((await gateway.request('/readyz?verbose')).json() as { needs_restart: unknown }).needs_restart, ['store'])
  await gateway.write('gateway.yaml', oneUpstream(upstream.origin, 'spool: { disk: 1GiB }\n'))
  await gateway.gateway.reload()
  await gateway.log.find(line => /restart/.test(String(line.msg)) && line.setting === 'spool')
  await gateway.write('gateway.yaml', oneUpstream(upstream.origin, 'transport: node\n'))
  await gateway.gateway.reload()
  await gateway.log.find(line => /restart/.test(String(line.msg)) && line.setting === 'transport')
})

proveNoLeak(t)
