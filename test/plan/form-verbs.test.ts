import t from 'tap'
import type { VerbConfig } from '../../src/core/config.js'
import { compileFormVerbs, formFault } from '../../src/plan/form-verbs.js'
import { tryPlan } from '../helpers/plans.js'

/** Notes what it is told to do; fields `a` and `b` are there. */
function changed(verbs: readonly VerbConfig[]): readonly string[] {
  const told: string[] = []
  compileFormVerbs(verbs)?.({
    has: name => name === 'a' || name === 'b',
    values: name => (name === 'a' || name === 'b' ? ['1'] : []),
    isList: () => false,
    list: () => undefined,
    add: (name, value) => told.push(`add ${name}=${value}`),
    set: (name, value) => told.push(`set ${name}=${value}`),
    rename: (from, to) => told.push(`rename ${from} ${to}`),
    remove: path => told.push(`remove ${path.join('.')}`),
    keep: paths => told.push(`keep ${paths.map(path => path.join('.')).join()}`),
  })
  return told
}

t.test('each verb changes fields, in the order of the list', async t => {
  t.same(changed([{ set: { x: 1, y: true } }, { keep: ['a', 'y'] }]), ['set x=1', 'set y=true', 'keep a,y'])
  t.same(changed([{ default: { a: 1, x: 'y' } }]), ['set x=y'])
  t.same(changed([{ rename: { a: 'a[]', 'c\\.d': 'e' } }]), ['rename a a[]', 'rename c.d e'])
  t.same(changed([{ alias: { a: 'b', c: 'd' } }]), ['remove a', 'rename c d'])
  t.same(compileFormVerbs([]), undefined)
})

t.test('what a name has in brackets is removed and kept, and not moved', async t => {
  t.same(changed([{ remove: ['a.b', 'a'] }, { rename: { 'a.b': 'c' } }]), ['remove a.b', 'remove a'])
  t.same(changed([{ keep: ['a.*'] }]), ['keep a.*'])
})

for (const verb of [
  { wrap: 'input' },
  { set: { 'a.b': 1 } },
  { set: { a: { b: 1 } } },
  { set: { a: ['x'] } },
  { default: { a: null } },
  { set: { '*': 1 } },
  { rename: { a: 'b.c' } },
  { alias: { a: 'b.c' } },
  { append: { 'a.b': 'x' } },
  { append: { a: null } },
  { template: { a: '{b.c}' } },
  { map: { a: { x: [1] } } },
  { insert: { 'a.b.0': 'x' } },
  { insert: { 'a.0': { b: 1 } } },
  { list: ['a', 'b.c'] },
  { mask: { 'a.*': 'black' } },
  { take: { 'query.a': 'b.c' } },
  { split: { a: { at: 'x', into: ['b', 'c.d'] } } },
  { when: { if: { 'a.b': 1 }, do: [] } },
  { when: { if: { a: 1 }, do: [], else: [{ when: { if: { a: 1 }, do: [{ insert: { 'a.b.0': 1 } }] } }] } },
]) {
  t.test(`what a form cannot say is reported: ${JSON.stringify(verb)}`, async t => {
    t.type(formFault(verb), 'string')
    t.throws(() => changed([verb]), { name: 'GatewayError', code: 'untranslatable' })
  })
}

t.test('verbs that read texts leave files alone, but for conditions and lists', async t => {
  const told: string[] = []
  compileFormVerbs([
    { append: { file: 'x', files: 'y' } },
    { template: { a: '{file}' } },
    { join: { files: ',' } },
    { base64: { file: 'encode' } },
    { when: { if: { file: { present: true } }, do: [{ set: { b: 1 } }], else: [{ set: { c: 1 } }] } },
    { when: { if: { none: { present: false } }, do: [{ set: { d: 1 } }] } },
    { only: { file: ['x'] } },
    { map: { a: { toString: 'no' } } },
  ])?.({
    has: name => name.startsWith('file'),
    values: name => ({ file: [undefined], files: ['1', undefined], a: ['toString'] })[name] ?? [],
    isList: name => name === 'files',
    list: () => undefined,
    add: (name, value) => told.push(`add ${name}=${value}`),
    set: (name, value) => told.push(`set ${name}=${value}`),
    rename: () => undefined,
    remove: path => told.push(`remove ${path.join('.')}`),
    keep: () => undefined,
  })
  t.same(told, ['add files=y', 'set b=1', 'set d=1', 'remove file', 'set a=no'])
})

t.test(
  'on a route of forms, and where an upstream is called for one, such a verb is a problem at its place',
  async t => {
    const yaml = `version: 1
keys: { me: { secret: { hash: "sha256:${'a'.repeat(64)}" } } }
upstreams:
  up:
    base: http://127.0.0.1:1
    speaks:
      own: { call: POST /own, request: [{ set: { a: 1 } }, { wrap: input }] }
models: { m: { upstream: up, request: [{ wrap: all }] } }
routes:
  POST /v1/own: { protocol: own, model: form.model, request: [{ set: { a.b: 1 } }] }
`
    const { plan, problems } = await tryPlan(t, yaml)
    t.equal(plan, undefined)
    t.same(
      problems.map(({ rule, position }) => [rule, position.line, position.column]),
      [
        ['form-verb', 10, 63],
        ['form-verb', 7, 60],
      ],
    )
    t.match(problems[1]?.message, 'wrap makes an object, and a form has none')
  },
)
