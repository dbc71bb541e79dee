import { equal, ok, throws } from 'node:assert/strict'
import t from 'tap'
import {
  apply,
  findValue,
  keepMembers,
  parsePath,
  removeMember,
  renameMember,
  replaceMembers,
  settingValue,
  setValue,
  splice,
  wrapValue,
} from '../../src/wire/json-edit.js'
import { fc } from '../helpers/property.js'
import { MALFORMED, OBJECTS, OTHER_VALUES } from './json-cases.js'
import { documents, mutants, parseObject } from './json-documents.js'
import * as model from './json-model.js'

/** Applies an edit to a text. */
function edited(text: string, edit: (doc: Uint8Array) => Uint8Array): string {
  return Buffer.from(edit(Buffer.from(text))).toString()
}

const set = (text: string, path: string, json: string): string =>
  edited(text, doc => setValue(doc, parsePath(path), json, 'always'))
const setDefault = (text: string, path: string, json: string): string =>
  edited(text, doc => setValue(doc, parsePath(path), json, 'absent'))
const remove = (text: string, path: string): string => edited(text, doc => removeMember(doc, parsePath(path)))
const rename = (text: string, from: string, to: string): string =>
  edited(text, doc => renameMember(doc, parsePath(from), parsePath(to)))
const keep = (text: string, ...names: string[]): string => edited(text, doc => keepMembers(doc, names.map(parsePath)))
const wrap = (text: string, path: string, name: string): string =>
  edited(text, doc => wrapValue(doc, parsePath(path), name))

const PRETTY = '{\n  "model" : "a",\n  "n": 1.50,\n  "big": 12345678901234567890\n}\n'

t.test('set replaces the bytes of a value and nothing else', async t => {
  t.equal(set(PRETTY, 'n', '2'), '{\n  "model" : "a",\n  "n": 2,\n  "big": 12345678901234567890\n}\n')
  t.equal(set('{"a":[1, {"b" : [ ]}]}', 'a.1.b', '"x"'), '{"a":[1, {"b" : "x"}]}')
  t.equal(set('{"a":1}', '', '{"b":2}'), '{"b":2}')
})

t.test('set appends a member that is missing, and the objects that lead to it', async t => {
  t.equal(set('{}', 'a', '1'), '{"a":1}')
  t.equal(set('{ }', 'a', '1'), '{"a":1 }')
  t.equal(set('{"a":1}', 'b.c.d', 'true'), '{"a":1,"b":{"c":{"d":true}}}')
  t.equal(set('{"a":{"x":0 } }', 'a.b.c', '1'), '{"a":{"x":0,"b":{"c":1} } }')
  t.equal(set('{\n  "a": 1\n}', 'b', '2'), '{\n  "a": 1,"b":2\n}')
  t.equal(set('{}', 'a"\\.b', '1'), '{"a\\".b":1}')
})

t.test('set leaves the document as it is where the way is closed', async t => {
  for (const [text, path] of [
    ['{"a":1}', 'a.b'],
    ['{"a":null}', 'a.b.c'],
    ['{"a":"x"}', 'a.0'],
    ['{"a":[1]}', 'a.1'],
    ['{"a":[1]}', 'a.01'],
    ['{"a":[1]}', 'a.-1'],
    ['{"a":[1]}', 'a.x'],
    ['{"a":[]}', 'a.0.b'],
  ] as const) {
    const doc = Buffer.from(text)
    t.equal(setValue(doc, parsePath(path), '0', 'always'), doc, `${text} ${path}`)
  }
})

t.test('default sets only what is absent; null is there', async t => {
  t.equal(setDefault('{"a":null}', 'a', '1'), '{"a":null}')
  t.equal(setDefault('{"b":{}}', 'b.a', '1'), '{"b":{"a":1}}')
  t.equal(setDefault('{"a":1}', '', '2'), '{"a":1}')
})

t.test('remove takes one comma along', async t => {
  t.equal(remove('{"a":1}', 'a'), '{}')
  t.equal(remove('{ "a" : 1 }', 'a'), '{  }')
  t.equal(remove('{"a":1, "b":2, "c":3}', 'a'), '{"b":2, "c":3}')
  t.equal(remove('{"a":1, "b":2, "c":3}', 'b'), '{"a":1, "c":3}')
  t.equal(remove('{"a":1, "b":2 , "c":3 }', 'c'), '{"a":1, "b":2 }')
  t.equal(remove('{"a":[1, 2, 3]}', 'a.1'), '{"a":[1, 3]}')
  t.equal(remove('{"a":[ 1 ]}', 'a.0'), '{"a":[  ]}')
  t.equal(remove('{"a":{"b":{"c":[]}}}', 'a.b.c'), '{"a":{"b":{}}}')
  for (const path of ['b', 'a.b', 'a.0.0', '']) t.equal(remove('{"a":[1]}', path), '{"a":[1]}', path)
})

t.test('rename within an object changes only the key', async t => {
  t.equal(
    rename('{ "max_tokens" : 5e1 ,"x":1}', 'max_tokens', 'max_completion_tokens'),
    '{ "max_completion_tokens" : 5e1 ,"x":1}',
  )
  t.equal(rename('{"a":[{"b":1}]}', 'a.0.b', 'a.0.c'), '{"a":[{"c":1}]}')
  t.equal(rename('{"a":1}', 'a', 'a'), '{"a":1}')
  t.equal(rename('{"a":1}', 'b', 'a'), '{"a":1}', 'nothing to rename')
})

t.test('rename out of an array, where there is no way to the new place, leaves all but doubled names', async t => {
  t.equal(rename('[1,1,{"e":1}]', '0', '1.e.a'), '[1,1,{"e":1}]')
  t.equal(rename('[1,1,{"e":1,"e":1}]', '0', '1.e.a'), '[1,1,{"e":1}]')
  t.equal(rename('[1,1,{"e":1,"e":{}}]', '0', '1.e.a'), '[1,{"e":{"a":1}}]')
})

t.test('rename to a name that is taken replaces its value', async t => {
  t.equal(rename('{"a":1,"b":2,"c":3}', 'a', 'b'), '{"b":1,"c":3}')
  t.equal(rename('{"a":1,"b":2,"c":3}', 'c', 'b'), '{"a":1,"b":3}')
  t.equal(rename('{"a":{"x":1},"b":2}', 'a.x', 'b'), '{"a":{},"b":1}')
})

t.test('rename to another place moves the bytes of the value', async t => {
  t.equal(rename('{"a":1.0,"b":{}}', 'a', 'b.c.d'), '{"b":{"c":{"d":1.0}}}')
  t.equal(rename('{"a":{"b": {"x" : 1}}}', 'a.b', 'c'), '{"a":{},"c":{"x" : 1}}')
  t.equal(rename('{"a":1}', 'a', 'a.b'), '{"a":{"b":1}}')
  t.equal(rename('{"a":{"b":1}}', 'a.b', 'a'), '{"a":1}')
  t.equal(rename('{"a":[7,8]}', 'a.0', 'b'), '{"a":[8],"b":7}')
  t.equal(rename('{"a":1,"b":"x"}', 'a', 'b.c'), '{"a":1,"b":"x"}', 'and nothing is lost where it cannot go')
})

t.test('keep leaves the named members, in their order', async t => {
  t.equal(keep('{"a":1, "b":2, "c":3}', 'c', 'a'), '{"a":1, "c":3}')
  t.equal(keep('{"a":1, "b":2, "c":3}', 'b'), '{"b":2}')
  t.equal(keep('{"a":1, "b":2}'), '{}')
  t.equal(keep('{"a":1, "b":2}', 'x'), '{}')
  t.equal(keep('{"a":1, "b":2}', 'a', 'b', 'x'), '{"a":1, "b":2}')
})

t.test('wrap puts a value, or the document, into an object', async t => {
  t.equal(wrap(' {"a":1} ', '', 'input'), ' {"input":{"a":1}} ')
  t.equal(wrap('{"a":[1, 2]}', 'a.0', 'v'), '{"a":[{"v":1}, 2]}')
  t.equal(wrap('{"a":1}', 'b', 'v'), '{"a":1}')
})

t.test('of a name that occurs twice the last counts, and an edit leaves no other', async t => {
  t.equal(set('{"a":1,"b":0,"a":2}', 'a', '3'), '{"b":0,"a":3}')
  t.equal(set('{"a":{"x":1},"a":{}}', 'a.x', '3'), '{"a":{"x":3}}')
  t.equal(set('{"a":{"x":1},"b":0,"\\u0061":{}}', 'a.x', '3'), '{"b":0,"\\u0061":{"x":3}}')
  t.equal(setDefault('{"a":{},"a":{"x":1}}', 'a.x', '3'), '{"a":{"x":1}}')
  t.equal(remove('{"a":{"x":1},"a":{}}', 'a.x'), '{"a":{}}')
  t.equal(remove('{"a":{"x":1},"a":null}', 'a.x'), '{"a":null}')
  t.equal(remove('{"a":{"b":{"x":1},"b":{}},"a":{"b":{"x":2},"b":{"x":3},"c":0}}', 'a.b.x'), '{"a":{"b":{},"c":0}}')
  t.equal(remove('{"l":[{"a":{"x":1},"a":{}},{"a":{"x":2}}]}', 'l.*.a.x'), '{"l":[{"a":{}},{"a":{}}]}')
  t.equal(remove('{"a":{"k":{"x":1},"k":{}},"a":{"k":{"x":2},"k":{}}}', 'a.*.x'), '{"a":{"k":{}}}')
  t.equal(rename('{"a":{"x":1},"a":{"x":2}}', 'a.x', 'a.y'), '{"a":{"y":2}}')
  t.equal(rename('{"a":{"x":1},"b":{},"a":{"x":2},"b":{}}', 'a.x', 'b.y'), '{"a":{},"b":{"y":2}}')
  t.equal(keep('{"a":1,"a":2,"b":3}', 'a'), '{"a":2}')
  t.equal(wrap('{"a":1,"a":2}', 'a', 'v'), '{"a":{"v":2}}')
  t.equal(remove('{"a":1,"b":0,"a":2}', 'a'), '{"b":0}')
  t.equal(remove('{"a":1,"a":2}', 'a'), '{}')
  t.equal(rename('{"a":1,"c":9,"a":2,"c":8}', 'a', 'c'), '{"c":2}')
  t.same(findValue(Buffer.from('{"a":1,"a":22}'), ['a']), { keyStart: 7, keyEnd: 10, start: 11, end: 13 })
})

t.test('* is every element of an array and every member of an object', async t => {
  const text = '{"l":[{"n":"x","r":1}, "s", {"r":2},[{"n":0}], null],"o":{"p":{"n":1},"q":{}}}'
  t.equal(remove(text, 'l.*.n'), '{"l":[{"r":1}, "s", {"r":2},[{"n":0}], null],"o":{"p":{"n":1},"q":{}}}')
  t.equal(remove(text, 'o.*.n'), text.replace('{"n":1}', '{}'))
  t.equal(remove(text, 'l.*'), '{"l":[],"o":{"p":{"n":1},"q":{}}}')
  t.equal(remove(text, 'o.*'), text.replace(/"o":.*/, '"o":{}}'))
  t.equal(remove(text, '*.*.n'), '{"l":[{"r":1}, "s", {"r":2},[{"n":0}], null],"o":{"p":{},"q":{}}}')
  t.equal(remove(text, 'l.*.*.n'), text.replace('{"n":0}', '{}'))
  t.equal(remove(text, 'l.*.0.n'), text.replace('{"n":0}', '{}'))
  t.equal(remove(text, 'x.*.n'), text)
  t.equal(set('{"l":[{"n":1},{},3]}', 'l.*.n', '0'), '{"l":[{"n":0},{"n":0},3]}')
  t.equal(set('{"l":[{}]}', 'l.*.a.b', '0'), '{"l":[{"a":{"b":0}}]}')
  t.equal(set('{"l":[1,{"a":2}]}', 'l.*', '0'), '{"l":[0,0]}')
  t.equal(set('{}', 'l.*.n', '0'), '{}', 'no member is made for it')
  t.equal(setDefault('{"l":[{"n":1},{}]}', 'l.*.n', '0'), '{"l":[{"n":1},{"n":0}]}')
  t.equal(rename('{"l":[{"a":1},{"b":2}, {"a":3,"b":4}]}', 'l.*.a', 'l.*.b'), '{"l":[{"b":1},{"b":2}, {"b":3}]}')
  t.equal(rename('{"l":[{"m":{"a":1}},{}]}', 'l.*.m.a', 'l.*.b'), '{"l":[{"m":{},"b":1},{}]}')
  t.equal(rename('{"l":[[1,2],[3]]}', 'l.*.1', 'l.*.0'), '{"l":[[2],[3]]}')
  t.equal(wrap('{"l":[1,{"a":2}]}', 'l.*', 'v'), '{"l":[{"v":1},{"v":{"a":2}}]}')
  t.equal(keep('{"l":[{"a":1,"b":2},3,{"b":4}],"o":{"a":1}}', 'l.*.a'), '{"l":[{"a":1},{}]}')
  t.equal(keep('{"a":{"b":1,"c":2},"d":3}', 'a.b', 'd'), '{"a":{"b":1},"d":3}')
})

t.test('names are compared as they read, however they are escaped', async t => {
  t.equal(set('{"\\u0061":1}', 'a', '2'), '{"\\u0061":2}')
  t.equal(remove('{"\\ud83d\\ude00":1}', '😀'), '{}')
  t.equal(rename('{"a\\/b":1}', 'a/b', 'é"'), '{"é\\"":1}')
  t.equal(set('{"__proto__":1}', '__proto__.x', '1'), '{"__proto__":1}')
})

t.test('a value is found with its key', async t => {
  const doc = Buffer.from('{ "a" : {"b": [ 1, "x" ]} }')
  t.same(findValue(doc, ['a', 'b']), { keyStart: 9, keyEnd: 12, start: 14, end: 24 })
  t.same(findValue(doc, ['a', 'b', '1']), { start: 19, end: 22 })
  t.same(findValue(doc, []), { start: 0, end: 27 })
  for (const path of [['b'], ['a', 'b', '2'], ['a', 'b', 'c'], ['a', 'b', '1', 'x']])
    t.equal(findValue(doc, path), undefined)
})

t.test('splice replaces bytes and copies the rest', async t => {
  const doc = Buffer.from('{"model":"a"}')
  t.equal(Buffer.from(splice(doc, 9, 12, Buffer.from('"bcd"'))).toString(), '{"model":"bcd"}')
  t.equal(doc.toString(), '{"model":"a"}')
  t.equal(Buffer.from(splice(new Uint8Array(doc), 0, 13, Buffer.from('{}'))).toString(), '{}')
})

t.test('what is not JSON object or array is refused by every edit', async () => {
  for (const text of [...MALFORMED, ...OTHER_VALUES.filter(text => !text.includes('['))]) {
    const doc = Buffer.from(text)
    for (const edit of [
      () => findValue(doc, []),
      () => findValue(doc, ['a', 'b']),
      () => setValue(doc, ['z'], '1', 'always'),
      () => removeMember(doc, ['z']),
      () => renameMember(doc, ['z'], ['y']),
      () => keepMembers(doc, [['a']]),
      () => wrapValue(doc, [], 'a'),
    ])
      throws(edit, SyntaxError, JSON.stringify(text))
  }
})

t.test('every JSON object can be edited', async t => {
  for (const text of OBJECTS) t.same(JSON.parse(set(text, 'zz', '1')).zz, 1)
})

t.test('F-C11 a document of a million levels is read without recursion', async t => {
  const deep = `{"a":${'['.repeat(1e6)}${']'.repeat(1e6)},"b":1}`
  t.equal(remove(deep, 'a'), '{"b":1}')
})

t.test('edits accept what JSON.parse accepts', async () => {
  fc.assert(
    fc.property(fc.oneof(documents, mutants), text => {
      const find = (): unknown => findValue(Buffer.from(text), ['a', 'b'])
      if (parseObject(text) === undefined) throws(find, SyntaxError)
      else find()
    }),
    { numRuns: 1000 },
  )
})

const names = fc.constantFrom('a', 'b', 'model', '__proto__', 'é', 'new', '0', '1', '2')
const randomPath = fc.array(names, { minLength: 1, maxLength: 3 })
const json = documents.map(text => text.trim())

/** A document and a path: mostly one that leads somewhere in it, sometimes a little further. */
const located = documents.chain(text =>
  fc.tuple(
    fc.constant(text),
    fc.oneof(
      fc.constantFrom(...model.pathsOf(parseObject(text))),
      randomPath,
      fc.tuple(fc.constantFrom(...model.pathsOf(parseObject(text))), names).map(([path, name]) => [...path, name]),
    ),
  ),
)

function same(result: Uint8Array, expected: unknown): void {
  equal(model.canonical(JSON.parse(Buffer.from(result).toString())), model.canonical(expected))
}

t.test('set means for the bytes what it means for the value', async () => {
  fc.assert(
    fc.property(located, json, fc.constantFrom('always', 'absent'), ([text, path], value, when) => {
      same(setValue(Buffer.from(text), path, value, when), model.set(parseObject(text), path, JSON.parse(value), when))
    }),
    { numRuns: 1000 },
  )
})

t.test('remove means for the bytes what it means for the value', async () => {
  fc.assert(
    fc.property(located, ([text, path]) => {
      same(removeMember(Buffer.from(text), path), model.remove(parseObject(text), path))
    }),
    { numRuns: 1000 },
  )
})

t.test('rename means for the bytes what it means for the value', async () => {
  fc.assert(
    fc.property(located, fc.oneof(randomPath, fc.constant(undefined)), names, ([text, from], other, name) => {
      const to = other ?? [...from.slice(0, -1), name]
      same(renameMember(Buffer.from(text), from, to), model.rename(parseObject(text), from, to))
    }),
    { numRuns: 2000 },
  )
})

t.test('keep and wrap mean for the bytes what they mean for the value', async () => {
  fc.assert(
    fc.property(located, fc.array(names), names, ([text, path], kept, name) => {
      const value = parseObject(text)
      same(
        keepMembers(
          Buffer.from(text),
          kept.map(name => [name]),
        ),
        model.keep(value, kept),
      )
      same(wrapValue(Buffer.from(text), path, name), model.wrap(value, path, name))
    }),
    { numRuns: 1000 },
  )
})

t.test('what an edit does not name keeps its bytes', async () => {
  fc.assert(
    fc.property(documents, json, (text, value) => {
      const doc = Buffer.from(text)
      for (const name of Object.keys(parseObject(text) ?? {})) {
        const after = [
          setValue(doc, [`new ${name}`], value, 'always'),
          setValue(doc, ['new', 'path'], value, 'always'),
          renameMember(doc, ['a'], ['new']),
          removeMember(doc, ['b']),
          keepMembers(doc, [[name]]),
        ]
        for (const result of after) {
          const before = bytesOf(doc, name)
          const then = bytesOf(result, name)
          ok(then === undefined || then === before || name === 'a' || name === 'b' || name.startsWith('new'))
        }
      }
    }),
  )
})

function bytesOf(doc: Uint8Array, name: string): string | undefined {
  const place = findValue(doc, [name])
  return place && Buffer.from(doc).toString('latin1', place.start, place.end)
}

t.test('members are removed and one is set at once, wherever they stood', async t => {
  for (const [text, expected] of [
    ['{"a":1,"b":2}', '{"s":true,"b":2}'],
    ['{ "b":2 , "a":1 }', '{"s":true, "b":2 }'],
    ['{"a":1,"s":false,"a":2}', '{"s":true}'],
    ['{}', '{"s":true}'],
    ['{"b":{"a":1}}', '{"s":true,"b":{"a":1}}'],
  ] as const) {
    const edited = Buffer.from(replaceMembers(Buffer.from(text), ['a'], 's', 'true')).toString()
    t.equal(edited, expected)
    t.same(Object.keys(JSON.parse(edited) as object), Object.keys(JSON.parse(expected) as object))
  }
})

t.test('settingValue gives the edits that set a value, and makes objects on the way to it', async t => {
  for (const [text, path, expected] of [
    ['{}', 'a', '{"a":1}'],
    [' { "b": 2 }', 'a', ' {"a":1, "b": 2 }'],
    ['{"a":null,"b":2}', 'a', '{"a":1,"b":2}'],
    ['{"b":2}', 'c.a', '{"c":{"a":1},"b":2}'],
    ['{"b":2,"c":{}}', 'c.a', '{"b":2,"c":{"a":1}}'],
    ['{"b":2,"c":{"d":3}}', 'c.a', '{"b":2,"c":{"a":1,"d":3}}'],
    ['{"b":2,"c":null}', 'c.a', '{"b":2,"c":{"a":1}}'],
    ['[1]', 'a', '[1]'],
  ] as const) {
    const doc = Buffer.from(text)
    t.equal(apply(doc, settingValue(doc, parsePath(path), '1')).toString(), expected, `${text} ${path}`)
  }
})
