import t from 'tap'
import { listElements } from '../../src/wire/json-list.js'

function elements(text: string, name = 'list'): readonly string[] {
  const doc = Buffer.from(text)
  return [...listElements(doc, name)].map(({ start, end }) => doc.toString('utf8', start, end))
}

t.test('the elements of a member, one by one', async t => {
  t.strictSame(elements('{"list":[1,{"a":[2]},"é,]"]}'), ['1', '{"a":[2]}', '"é,]"'])
  t.strictSame(elements(' { "x" : [ 0 ] , "l\\u0069st" : [ 1 , [ ] ] , "y" : 1 } '), ['1', '[ ]'])
})

t.test('none where there is no such list', async t => {
  for (const text of ['{}', '{"list":[]}', '{"list":[ ]}', '{"list":{}}', '{"list":1}', '{"a":{"list":[1]}}'])
    t.strictSame(elements(text), [], text)
})
