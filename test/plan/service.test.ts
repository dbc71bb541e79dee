import t from 'tap'
import type { Config } from '../../src/core/config.js'
import type { Choice } from '../../src/core/plan.js'
import { atOnce } from '../../src/core/steps.js'
import { ModelIndex } from '../../src/plan/model-index.js'
import { FixedService, ModelService, type Parts } from '../../src/plan/service.js'
import { compileUpstreams } from '../../src/plan/upstreams.js'
import { callOf, chatConfig, modelOf, upstreamOf } from '../helpers/config-builder.js'

const CHAT = { protocol: 'chat', timeouts: {}, retry: {}, strict: false }

function partsOf(config: Partial<Config>): Parts {
  const full = chatConfig(config)
  return {
    config: full,
    compiledUpstreams: atOnce(compileUpstreams(full, new Set())),
    index: new ModelIndex(full.models),
    taskKinds: new Map(),
  }
}

function names(choice: Choice | undefined): unknown {
  return choice?.groups.flatMap(group => group.exchanges.map(({ upstream, model }) => `${upstream.name}:${model}`))
}

t.test('an exact name is served by its own targets, always by the same object', async t => {
  const service = new ModelService(partsOf({ models: { m: modelOf('north'), '*': modelOf('south') } }), CHAT)
  t.same(names(service.resolve('m')), ['north:m'])
  t.equal(service.resolve('m'), service.resolve('m'))
})

t.test('a name that a glob matches is served under the name that it stands for', async t => {
  const service = new ModelService(partsOf({ models: { 'far/*': modelOf({ upstream: 'north', as: '*' }) } }), CHAT)
  t.same(names(service.resolve('far/x/y')), ['north:x/y'])
  t.equal(service.resolve('far/x/y'), service.resolve('far/x/y'), 'kept ready')
})

t.test('an exact name whose upstreams are off does not fall to a glob', async t => {
  const upstreams = { north: upstreamOf('https://n.example', { off: 'x' }), south: upstreamOf('https://s.example') }
  const service = new ModelService(partsOf({ upstreams, models: { m: modelOf('north'), '*': modelOf('south') } }), CHAT)
  t.equal(service.resolve('m'), undefined)
  t.same(names(service.resolve('n')), ['south:n'])
})

t.test('unknown names, the empty one and names of built-ins are not served', async t => {
  const service = new ModelService(partsOf({ models: { m: modelOf('north') } }), CHAT)
  for (const name of ['', 'n', 'M', 'm ', 'constructor', '__proto__']) t.equal(service.resolve(name), undefined, name)
})

t.test('F-C12 names of 1 MiB are refused before a glob sees them', async t => {
  const models = { [`${'a*'.repeat(100)}b`]: modelOf('north'), '*': modelOf('north') }
  const service = new ModelService(partsOf({ models }), CHAT)
  for (const letter of ['a', '*', '/', '.', '😀']) {
    t.equal(service.resolve(letter.repeat(1 << 20)), undefined)
  }
})

t.test('F-C13 names with control characters or half a surrogate pair are not served, globs or not', async t => {
  const service = new ModelService(partsOf({ models: { '*': modelOf('north') } }), CHAT)
  for (const name of ['a\r\nx: y', 'a\0', '\ud800', 'a\x7f']) t.equal(service.resolve(name), undefined)
})

t.test('however many names a glob is asked for, each is served', async t => {
  const service = new ModelService(partsOf({ models: { '*': modelOf('north') } }), CHAT)
  for (let index = 0; index < 5000; index++) service.resolve(`n${index}`)
  t.same(names(service.resolve('n0')), ['north:n0'])
})

t.test('it tells what its calls need beside the model', async t => {
  const speaks = { chat: callOf('POST /{account}/{model}', { stream: { method: 'POST', target: '/{account}/{x}' } }) }
  const upstreams = { north: upstreamOf('https://n.example', { speaks }) }
  const service = new ModelService(partsOf({ upstreams, models: { m: modelOf('north') } }), CHAT)
  t.same([...atOnce(service.needs()).keys()].sort(), ['account', 'x'])
})

t.test('a fixed upstream serves requests that name no model', async t => {
  const service = new FixedService(partsOf({}), CHAT, 'south')
  t.same(names(service.resolve('')), ['south:'])
  t.equal(service.resolve('m'), undefined)
})

t.test('a fixed upstream that is off serves nothing', async t => {
  const upstreams = { south: upstreamOf('https://s.example', { off: 'disabled' }) }
  t.equal(new FixedService(partsOf({ upstreams }), CHAT, 'south').resolve(''), undefined)
})

t.test('a fixed upstream has no model to fill in', async t => {
  const upstreams = { south: upstreamOf('https://s.example', { speaks: { chat: callOf('POST /{model}') } }) }
  t.same([...atOnce(new FixedService(partsOf({ upstreams }), CHAT, 'south').needs()).keys()], ['model'])
})
