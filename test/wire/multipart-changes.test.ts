import t from 'tap'
import { MultipartChanges, type ReadForm } from '../../src/wire/multipart-changes.js'
import { MultipartEdit } from '../../src/wire/multipart-edit.js'
import { fc } from '../helpers/property.js'
import { newForm } from './multipart-reading.js'

/** A form of these text fields, and where its parts stand. */
function formOf(fields: readonly (readonly [string, string])[], before = ''): { bytes: Buffer; form: ReadForm } {
  const parts = fields.map(
    ([name, value]) => `--B\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  )
  const bytes = Buffer.from(`${before}${parts.join('')}--B--\r\n`)
  const reading = newForm()
  let at = 0
  let close = 0
  let bare = false
  const from: number[] = []
  for (const event of [...reading.push(bytes), ...reading.end()]) {
    if (at === 0 && event.type !== 'preamble') bare = event.bytes[0] === 0x2d
    if (event.type === 'part') from.push(at)
    if (event.type === 'close') close = at
    at += event.bytes.length
  }
  const read = reading.fields.map((field, index) => ({ part: field, field, from: from[index] ?? 0 }))
  return { bytes, form: { boundary: 'B', parts: read, close, bare } }
}

interface Result {
  readonly text: string
  readonly fields: readonly (readonly [string, string | undefined])[]
}

/** The form after the changes, read again by the same reader. */
function after({ bytes, form }: ReturnType<typeof formOf>, change: (changes: MultipartChanges) => void): Result {
  const changes = new MultipartChanges(form)
  change(changes)
  const edit = new MultipartEdit(changes.edits())
  const growth = edit.growth
  const result = Buffer.concat([...edit.push(bytes)])
  if (result.length !== bytes.length + growth) throw new Error('another length than was told')
  const reading = newForm()
  reading.push(result)
  reading.end()
  return { text: result.toString(), fields: reading.fields.map(({ name, value }) => [name, value]) }
}

const AB = [['a', '1'], ['b', '2']] as const // biome-ignore format: pairs

t.test('nothing changes where nothing is changed', async t => {
  const form = formOf(AB)
  t.equal(after(form, () => undefined).text, form.bytes.toString())
  t.equal(after(form, changes => changes.set('a', '1')).text, form.bytes.toString())
  t.equal(after(form, changes => changes.rename('c', 'd')).text, form.bytes.toString())
})

t.test('a part that is removed leaves no trace, wherever it stood', async t => {
  t.equal(after(formOf(AB), changes => changes.remove(['a'])).text, formOf([['b', '2']]).bytes.toString())
  t.equal(after(formOf(AB), changes => changes.remove(['b'])).text, formOf([['a', '1']]).bytes.toString())
  t.equal(after(formOf(AB), changes => changes.keep([])).text, '--B--\r\n')
  t.equal(after(formOf(AB, 'pre\r\n'), changes => changes.keep([])).text, 'pre\r\n--B--\r\n')
})

t.test('a new field comes last, also where it is the only one', async t => {
  t.same(after(formOf(AB), changes => changes.set('c', '3')).fields, [...AB, ['c', '3']])
  const only = (changes: MultipartChanges): void => {
    changes.keep([])
    changes.set('c', '3')
  }
  t.same(after(formOf(AB), only).fields, [['c', '3']])
  t.same(after(formOf(AB, 'pre\r\n'), only).fields, [['c', '3']])
  t.same(after(formOf([]), only).fields, [['c', '3']])
})

t.test('a field that is set is once, and one that is renamed takes the place of another', async t => {
  const twice = formOf([['a', '1'], ['a', '2'], ['b', '3']]) // biome-ignore format: pairs
  t.same(after(twice, changes => changes.set('a', '4')).fields, [['a', '4'], ['b', '3']]) // biome-ignore format: pairs
  t.same(after(twice, changes => changes.rename('a', 'b')).fields, [['b', '1'], ['b', '2']]) // biome-ignore format: pairs
})

t.test('F-C13 names and values cannot break out of their part', async t => {
  t.throws(() => after(formOf(AB), changes => changes.set('a', 'x\r\n--B\r\n')), { name: 'MultipartError' })
  t.throws(() => after(formOf(AB), changes => changes.set('c', '--B--')), { name: 'MultipartError' })
  t.same(after(formOf(AB), changes => changes.rename('a', 'x"; y=\r\nz')).fields[0], ['x%22; y=%0D%0Az', '1'])
})

type Step = readonly ['set' | 'rename' | 'remove', string, string] | readonly ['keep', readonly string[]]

/** The same on plain pairs. */
function model(
  fields: readonly (readonly [string, string])[],
  steps: readonly Step[],
): readonly (readonly [string, string])[] {
  return steps.reduce<readonly (readonly [string, string])[]>((all, step) => {
    if (step[0] === 'keep') return all.filter(([name]) => step[1].includes(name))
    const [verb, name, other] = step
    const first = all.findIndex(field => field[0] === name)
    if (verb === 'remove') return all.filter(field => field[0] !== name)
    if (verb === 'rename') {
      if (first < 0 || name === other) return all
      return all.filter(field => field[0] !== other).map(field => (field[0] === name ? [other, field[1]] : field))
    }
    if (first < 0) return all.concat([[name, other]])
    return all.flatMap((field, at) => (field[0] !== name ? [field] : at === first ? [[name, other] as const] : []))
  }, fields)
}

t.test('any changes, one after the other, come to what they would come to in a list', async () => {
  const name = fc.constantFrom('a', 'b', 'c', 'd[]', 'e f')
  const value = fc.constantFrom('', 'x', 'longer', '\r\n', '--', 'ü')
  const fields = fc.array(fc.tuple(name, value), { maxLength: 5 })
  const steps = fc.array(
    fc.oneof(
      fc.tuple(fc.constant('set' as const), name, value),
      fc.tuple(fc.constant('rename' as const), name, name),
      fc.tuple(fc.constant('remove' as const), name, value),
      fc.tuple(fc.constant('keep' as const), fc.uniqueArray(name)),
    ),
    { maxLength: 5 },
  )
  fc.assert(
    fc.property(fields, steps, fc.constantFrom('', '\r\n', 'pre\r\n'), (fields, steps, before) => {
      const { fields: found } = after(formOf(fields, before), changes => {
        for (const step of steps) {
          if (step[0] === 'set') changes.set(step[1], step[2])
          else if (step[0] === 'rename') changes.rename(step[1], step[2])
          else if (step[0] === 'remove') changes.remove([step[1]])
          else changes.keep(step[1].map(name => [name]))
        }
      })
      const sorted = (all: readonly (readonly [string, string | undefined])[]): string => JSON.stringify(all.toSorted())
      // Where a field is added matters to no one, what is said does.
      if (sorted(found) !== sorted(model(fields, steps))) throw new Error(JSON.stringify(found))
    }),
    { numRuns: 2000 },
  )
})

t.test('a field is removed and set however its name is spelled', async t => {
  const spelled = [['a', '1'], ['a[]', '2'], ['a[b]', '3'], [' a ', '4'], ['%61', '5'], ['a[', '6'], ['ab', '7']] as const // biome-ignore format: pairs
  t.same(after(formOf(spelled), changes => changes.remove(['a'])).fields, [['ab', '7']])
  t.same(after(formOf(spelled), changes => changes.set('a', 'x')).fields, [['a', 'x'], ['ab', '7']]) // biome-ignore format: pairs
  t.same(after(formOf([['a[]', '1']]), changes => changes.set('a', 'x')).fields, [['a', 'x']])
  t.same(after(formOf([['a[]', '1']]), changes => changes.rename('a[]', 'a')).fields, [['a', '1']])
})

t.test('what a name has in brackets is at a path', async t => {
  const fields = [['m[secret]', '1'], ['m[s][x]', '2'], ['m[%73ecret]', '3'], ['m[a]', '4'], ['m.secret', '5'], ['l[][n]', '6'], ['l[0][n]', '7']] as const // biome-ignore format: pairs
  const names = (change: (changes: MultipartChanges) => void) =>
    after(formOf(fields), change).fields.map(([name]) => name)
  t.same(
    names(changes => changes.remove(['m', 'secret'])),
    ['m[s][x]', 'm[a]', 'm.secret', 'l[][n]', 'l[0][n]'],
  )
  t.same(
    names(changes => changes.remove(['l', '*', 'n'])),
    ['m[secret]', 'm[s][x]', 'm[%73ecret]', 'm[a]', 'm.secret'],
  )
  t.same(names(changes => changes.keep([['m', 's'], ['m.secret'], ['l']])), ['m[s][x]', 'm.secret', 'l[][n]', 'l[0][n]']) // biome-ignore format: paths
  t.same(names(changes => changes.remove(['m[a]'])).length, 6)
})
