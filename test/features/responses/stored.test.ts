import t from 'tap'
import type { Json, JsonObject } from '../../../src/core/json.js'
import { decodeStored, encodeStored, headOf, type OwnResponse } from '../../../src/features/responses/stored.js'
import { fc } from '../../helpers/property.js'

// Records of responses: lines of JSON, which are written and read one by one.

function own(input: readonly JsonObject[], response: JsonObject, parts: Partial<OwnResponse> = {}): OwnResponse {
  const facts = { kind: 'own', id: 'resp_1', created: 5, model: 'm', previous: undefined } as const
  return { ...facts, turns: 1, bytes: 2, items: 3, input, response, background: false, ...parts }
}

t.test('what is kept comes back as it was, the order of its members too', async t => {
  const object = fc.dictionary(fc.string(), fc.jsonValue() as fc.Arbitrary<Json>)
  const response = fc.tuple(object, fc.array(object), object).map(([a, output, b]) => ({ ...a, output, ...b }))
  await fc.assert(
    fc.asyncProperty(fc.array(object), fc.oneof(response, object), async (input, response) => {
      const stored = own(input, response)
      const read = await decodeStored(await encodeStored(stored))
      const [wanted, found] = [sorted(stored), sorted(read as OwnResponse)]
      return wanted === found
    }),
  )
  const kept = { kind: 'kept', id: 'resp_2', created: 5, model: 'm', upstream: 'up', background: false } as const
  t.same(await decodeStored(await encodeStored(kept)), kept)
})

t.test('records of former versions, which are one document, are read as ever', async t => {
  const { items: _, ...stored } = own([{ type: 'message', role: 'user' }], { id: 'resp_1', output: [{ type: 'x' }] })
  const record = Buffer.from(JSON.stringify(stored))
  t.equal(headOf(record), undefined)
  t.same(await decodeStored(record), JSON.parse(JSON.stringify(stored)))
  t.equal(await decodeStored(Buffer.from('[]')), undefined)
})

t.test('how large a conversation is comes first, no matter what follows', async t => {
  const record = await encodeStored(own([{ a: 1 }], { output: [] }, { turns: 7, bytes: 800, items: 90 }))
  const head = record.subarray(0, record.indexOf('\n') + 1)
  t.same(headOf(Buffer.concat([head, Buffer.from('{ no JSON')])), { turns: 7, bytes: 800, items: 90 })
})

t.test('a large record lets others have the event loop while it is written and read', async t => {
  const item = { type: 'message', role: 'user', content: 'x'.repeat(1000) }
  const stored = own(
    Array.from({ length: 8000 }, () => item),
    { output: [] },
  )
  let turns = 0
  let counting = true
  const count = (): void => {
    turns++
    if (counting) setImmediate(count)
  }
  count()
  const record = await encodeStored(stored)
  const written = turns
  const read = (await decodeStored(record)) as OwnResponse
  counting = false
  t.equal(read.input.length, 8000)
  t.ok(written > 20, `${written} turns while it was written`)
  t.ok(turns - written > 20, `${turns - written} turns while it was read`)
})

/** Members of what is kept itself may be in any order; those of the response and of items may not. */
function sorted({ input, response, ...rest }: OwnResponse): string {
  const entries = Object.entries(JSON.parse(JSON.stringify(rest))).sort(([a], [b]) => (a < b ? -1 : 1))
  return JSON.stringify([entries, input, response])
}
