import type { Test } from 'tap'
import type { TextCodec } from '../../src/core/codec.js'
import { type Carry, FIELDS, type Field, type FieldMapping } from '../../src/core/fields.js'
import { type OpenApiName, openApi, openApiFolder, openApiSchemas } from '../helpers/openapi.js'
import { answerContract } from './contract-answers.js'
import { hostileContract } from './contract-hostile.js'
import { streamContract } from './contract-streams.js'
import { uncovered } from './coverage.js'
import { SAMPLES, type Sample } from './samples.js'
import { brief, plain, readBack, targetOf } from './support.js'

/** What every codec of text has to do. `others` are codecs that its requests may come from and its answers go to. */
export function contract(t: Test, codec: TextCodec, others: readonly TextCodec[]): void {
  t.test('fields: every member of the OpenAPI document is in a row', { skip: openApiFolder() === undefined }, t => {
    const name = `${codec.protocol}.request` as OpenApiName
    const { schemas, root } = openApiSchemas(name)
    t.same(uncovered(codec.server.fields, schemas.members(root)), [])
    t.end()
  })
  t.test('fields: every row says what there is to say', async t => {
    for (const [member, held] of Object.entries(codec.server.fields)) t.equal(faultOf(held), undefined, member)
  })
  t.test('carries: every field of the canonical model', async t => {
    t.same(Object.keys(codec.client.carries).sort(), Object.keys(FIELDS).sort())
  })
  for (const field of Object.keys(FIELDS) as Field[]) {
    const carry = codec.client.carries[field]
    for (const sample of SAMPLES[field](codec.protocol, otherThan(codec, others))) {
      const named = [field, sample.name].filter(word => word !== '').join(' ')
      t.test(`${named}: ${wordOf(carry)}`, async t => carries(t, codec, field, carry, sample))
    }
  }
  answerContract(t, codec)
  streamContract(t, codec)
  hostileContract(t, codec, [codec, ...others.filter(other => other !== codec)])
}

function otherThan(codec: TextCodec, others: readonly TextCodec[]): string {
  return others.find(({ protocol }) => protocol !== codec.protocol)?.protocol ?? 'another'
}

function wordOf(carry: Carry): string {
  return typeof carry === 'string' ? carry : (Object.keys(carry)[0] ?? '')
}

function faultOf(held: FieldMapping): string | undefined {
  if (typeof held === 'string') return held in FIELDS ? undefined : `no field ${held}`
  if (Array.isArray(held)) return held.map(one => faultOf(one as Field)).find(fault => fault !== undefined)
  const [why = ''] = Object.values(held)
  return why === '' ? 'no reason' : undefined
}

function carries(t: Test, codec: TextCodec, field: Field, carry: Carry, { request, read }: Sample): void {
  const target = targetOf(codec)
  if (typeof carry === 'object' && 'refused' in carry) {
    t.throws(() => codec.client.encodeRequest(request, target), { name: 'GatewayError', code: 'untranslatable' })
    return
  }
  const body = plain(codec.client.encodeRequest(request, target))
  const lost = new Set(target.lost.map(loss => loss.field))
  for (const { field: one, why } of target.lost)
    t.ok(
      codec.client.carries[one] !== 'carried' || why !== undefined,
      `${one} is carried, and lost without a reason of its own`,
    )
  if (openApiFolder() !== undefined) t.same(openApi(`${codec.protocol}.request` as OpenApiName)(body), [], brief(body))
  if (carry === 'carried') {
    t.notOk(lost.has(field), 'nothing of it is lost')
    t.same(read(readBack(codec, request)), read(request), brief(body))
  } else if ('dropped' in carry) {
    t.ok(lost.has(field), 'its loss is said')
    const less = read(readBack(codec, request))
    t.notSame(less ?? 'nothing', read(request), 'it does not go out after all')
  }
}
