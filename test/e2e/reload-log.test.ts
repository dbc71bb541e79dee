import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { canary, proveNoLeak } from '../helpers/canaries.js'
import { CALLER, oneUpstream, startTestGateway, upstreamYaml } from '../helpers/gateway.js'
import { startRawUpstream } from '../helpers/raw-upstream.js'

/** By rename: a file that is written in place is empty for a moment. */
function save(folder: string, yaml: string): void {
  writeFileSync(join(folder, 'next'), yaml)
  renameSync(join(folder, 'next'), join(folder, 'gateway.yaml'))
}

t.test('"reloaded" says what was added, removed and changed, by name', async t => {
  const up = await startRawUpstream(t)
  const more = `upstreams:\n  up: ${upstreamYaml(up.origin)}\n  old: ${upstreamYaml(up.origin)}\n`
  const before = `version: 1\n${CALLER}\n${more}models: { m: up, gone: old, "a*": up, "b*": up }\n`
  const gateway = await startTestGateway(t, before)
  const key = canary('caller')
  const after = `version: 1
keys:
  caller: { secret: { env: CALLER_KEY }, models: ["*"], strict: true }
  second: { secret: { file: second }, models: [m] }
upstreams:
  up: ${upstreamYaml(up.origin, 'timeouts: { connect: 1s }')}
  new: ${upstreamYaml(up.origin)}
models: { m: [up, new], "b*": up, "a*": up, made: new }
routes: { POST /my/chat: { protocol: chat, model: body.model } }
limits: { body: 1MiB }
log: { level: debug }
expose: [upstream]
`
  await gateway.write('second', key)
  await gateway.write('gateway.yaml', after)
  await gateway.gateway.reload()
  const line = await gateway.log.find(one => one.msg === 'reloaded')
  t.match(line, { generation: 2 })
  const { keys, upstreams, models, routes, settings, protocols } = line
  t.same(
    { keys, upstreams, models, routes, settings, protocols },
    {
      keys: { added: ['second'], changed: ['caller'] },
      upstreams: { added: ['new'], removed: ['old'], changed: ['up'] },
      models: { added: ['made'], removed: ['gone'], changed: ['m'], reordered: true },
      routes: { added: ['POST /my/chat'] },
      settings: ['limits', 'log', 'expose'],
      protocols: undefined,
    },
  )
})

t.test('a secret that is rotated changes its upstream; a comment changes nothing that is served', async t => {
  const up = await startRawUpstream(t)
  const yaml = oneUpstream(up.origin).replace('{ env: UPSTREAM_KEY }', '{ file: up.key }')
  const gateway = await startTestGateway(t, yaml, { files: { 'up.key': canary('upstream') } })
  await gateway.write('up.key', canary('upstream'))
  await gateway.gateway.reload()
  const [first] = await gateway.log.count(1, one => one.msg === 'reloaded')
  t.same(first?.upstreams, { changed: ['up'] })
  await gateway.write('gateway.yaml', `${yaml}# a comment\n`)
  await gateway.gateway.reload()
  const [, second] = await gateway.log.count(2, one => one.msg === 'reloaded')
  t.same(Object.keys(second ?? {}), ['level', 'time', 'msg', 'generation', 'digest'])
})

t.test('of thousands of names some are reported, and how many more there are', async t => {
  const up = await startRawUpstream(t)
  const gateway = await startTestGateway(t, oneUpstream(up.origin))
  const many = Array.from({ length: 2000 }, (_, index) => `  added-${index}: up\n`).join('')
  await gateway.write('gateway.yaml', oneUpstream(up.origin).replace('models: { m: up }', `models:\n  m: up\n${many}`))
  await gateway.gateway.reload()
  const { models } = await gateway.log.find(one => one.msg === 'reloaded')
  const { added } = models as { added: string[] }
  t.equal(added.length, 51)
  t.equal(added.at(-1), '… 1950 more')
})

t.test('a save that fails counts once, though the files that it names are looked at again', async t => {
  const up = await startRawUpstream(t)
  const yaml = oneUpstream(up.origin, 'log: { level: debug }\n')
  const gateway = await startTestGateway(t, yaml, { watch: true, files: { 'more.yaml': 'keys: {}\n' } })
  save(gateway.folder, `${yaml}include: [more.yaml]\nmodles: { x: up }\n`)
  await gateway.log.find(line => line.msg === 'the configuration is still invalid, with the same problems')
  t.equal(gateway.gateway.health.reloads.failed, 1)
  t.equal(gateway.log.items.filter(line => line.level === 'error').length, 1)
  await gateway.gateway.reload()
  t.equal(gateway.gateway.health.reloads.failed, 2, 'whoever asks is answered')
  save(gateway.folder, `${yaml}modles: { x: up }\n`)
  await gateway.log.count(3, line => line.level === 'error')
  t.equal(gateway.gateway.health.reloads.failed, 3, 'another save is another one')
  save(gateway.folder, `${yaml}# mended\n`)
  await gateway.log.find(line => line.msg === 'reloaded')
  t.equal(gateway.gateway.health.valid, true)
})

proveNoLeak(t)
