import t from 'tap'
import type { Caller } from '../../src/core/caller.js'
import type { ModelConfig } from '../../src/core/config.js'
import type { ModelEntry } from '../../src/core/model-entry.js'
import { ModelIndex } from '../../src/plan/model-index.js'
import { ModelCatalog } from '../../src/plan/models.js'
import { NameSet } from '../../src/plan/names.js'
import { modelOf } from '../helpers/config-builder.js'

const MODELS: Readonly<Record<string, ModelConfig>> = {
  'swift-*': modelOf('north'),
  'swift-small': modelOf('south', { owner: 'us', created: 1 }),
  '*-large': modelOf('east'),
  embed: modelOf('west'),
}

function caller(...models: readonly string[]): Caller {
  const names = new NameSet(models)
  return { name: 'c', models, may: model => names.has(model), strict: false }
}

function catalogOf(models = MODELS, serves: (name: string) => boolean = () => true): ModelCatalog {
  return new ModelCatalog(new ModelIndex(models), serves)
}

function ids(entries: readonly ModelEntry[]): readonly string[] {
  return entries.map(entry => entry.id)
}

t.test('an exact name wins over a glob that is before it', async t => {
  t.equal(new ModelIndex(MODELS).find('swift-small')?.model.name, 'swift-small')
})

t.test('of several globs the first in the file wins', async t => {
  t.match(new ModelIndex(MODELS).find('swift-large'), { model: { name: 'swift-*' }, star: 'large' })
  t.match(new ModelIndex(MODELS).find('film-large'), { model: { name: '*-large' }, star: 'film' })
})

t.test('a glob is not a name of its own', async t => {
  t.equal(new ModelIndex({ 'a-*': modelOf('north') }).find('a'), undefined)
  t.match(new ModelIndex({ 'a-*': modelOf('north') }).find('a-*'), { star: '*' })
})

t.test('F-C11 names of built-ins are not models', async t => {
  for (const name of ['constructor', '__proto__', 'toString']) t.equal(new ModelIndex(MODELS).find(name), undefined)
})

t.test('the list holds exact names in the order of the file', async t => {
  t.same(ids(catalogOf().list(caller('*'))), ['swift-small', 'embed'])
})

t.test("the list also holds names of the key's own list that a glob serves", async t => {
  t.same(ids(catalogOf().list(caller('swift-9', 'embed', 'unknown'))), ['embed', 'swift-9'])
})

t.test('F-A3 the list holds only what the key may use', async t => {
  t.same(ids(catalogOf().list(caller('emb*'))), ['embed'])
  t.same(ids(catalogOf().list(caller())), [])
})

t.test('what no upstream serves now is neither listed nor found', async t => {
  const catalog = catalogOf(MODELS, name => name !== 'embed')
  t.same(ids(catalog.list(caller('*'))), ['swift-small'])
  t.equal(catalog.find('embed', caller('*')), undefined)
})

t.test('a name that only a glob matches is found', async t => {
  t.match(catalogOf().find('swift-9', caller('swift-*')), { id: 'swift-9', owner: 'north' })
})

t.test('F-A3 a model that the key may not use is not found', async t => {
  t.equal(catalogOf().find('embed', caller('swift-*')), undefined)
})

t.test('owner and created are as declared, else the first upstream and a fixed time', async t => {
  t.same(catalogOf().find('swift-small', caller('*')), { id: 'swift-small', created: 1, owner: 'us' })
  t.same(catalogOf().find('embed', caller('*')), { id: 'embed', created: 1735689600, owner: 'west' })
})
