import type { Test } from 'tap'
import type { RerankCodec } from '../../src/core/codec.js'
import { GatewayError } from '../../src/core/errors.js'
import type { Json, JsonObject } from '../../src/core/json.js'
import { RERANK_FIELDS, type RerankField, type RerankRequest } from '../../src/core/rerank.js'
import { fc } from '../helpers/property.js'
import { hostile, hostileObject } from './hostile.js'
import { MADE_UP, smallTarget } from './small-target.js'
import { brief, onlyGatewayErrors, plain } from './support.js'

const BASE: RerankRequest = {
  model: 'm',
  query: 'rain',
  documents: [{ text: 'Sun.' }, { text: 'Rain.' }, { text: 'Rain and snow.' }],
  returnDocuments: false,
  left: [],
}

const SAMPLES: Readonly<Record<RerankField, Partial<RerankRequest>>> = {
  query: {},
  documents: {},
  imageDocuments: { documents: [{ text: undefined, image: 'https://images.example/a.png' }] },
  top: { top: 2 },
  returnDocuments: { returnDocuments: true },
  documentTokens: { documentTokens: 512 },
  truncation: { truncation: true },
  priority: { priority: 3 },
}

/** What every codec of reranking has to do. */
export function rerankContract(t: Test, codec: RerankCodec): void {
  const { client, server } = codec
  const head = { model: 'm', stream: false }

  for (const field of Object.keys(RERANK_FIELDS) as RerankField[]) {
    const carry = client.carries[field]
    t.test(`${field}: ${typeof carry === 'string' ? carry : Object.keys(carry)}`, async t => {
      const request = { ...BASE, ...SAMPLES[field] }
      const { target, lost } = smallTarget(codec.client.carries)
      if (typeof carry === 'object' && 'refused' in carry) {
        t.throws(() => client.encodeRequest(request, target), { code: 'untranslatable' })
        return
      }
      const body = plain(client.encodeRequest(request, target)) as JsonObject
      if (typeof carry === 'object' && 'dropped' in carry) t.ok(lost.includes(field), 'its loss is said')
      if (carry !== 'carried') return
      t.notOk(lost.includes(field), 'nothing of it is lost')
      // The gateway has the documents: no one is asked to send them back.
      if (field !== 'returnDocuments') t.match(server.decodeRequest(body, head), SAMPLES[field], brief(body))
    })
  }

  t.test('every member that is held is read', async t => {
    for (const [member, held] of Object.entries(server.fields)) {
      const isRead = typeof held === 'string' || Array.isArray(held)
      if (!isRead || member.includes('.')) continue
      const wrong = { query: 'q', documents: ['a'], [member]: { wrong: true } }
      t.throws(() => server.decodeRequest(wrong, head), { code: 'invalid_parameter' }, member)
    }
  })

  t.test('an answer comes back as it was', async t => {
    const ranks = [
      { index: 2, score: 0.75 },
      { index: 0, score: -1.5 },
    ]
    const result = { model: 'm', id: 'id-1', ranks, input: 12, searchUnits: 1 }
    const { model: _, ...told } = result
    t.match(client.decodeResult(plain(server.encodeResult(result, BASE, MADE_UP)), BASE), told)
    const bare = plain(server.encodeResult({ model: '', ranks }, BASE, MADE_UP))
    t.match(bare, { id: 'rerank-made-up' })
  })

  t.test('what does not match the documents, or has no score, is not an answer', async t => {
    for (const results of BROKEN) {
      t.throws(() => client.decodeResult({ results }, BASE), { code: 'bad_upstream_response' }, brief(results))
    }
    t.throws(() => client.decodeResult({}, BASE), { code: 'bad_upstream_response' })
    t.throws(() => client.decodeResult({ error: { message: 'no' } }, BASE), { code: 'upstream_failed' })
  })

  t.test('an answer without order is put in order, and is never longer than was asked for', async t => {
    const results = [0.1, 0.9, 0.5].map((score, index) => ({ index, relevance_score: score }))
    const order = (top?: number) =>
      client.decodeResult({ results }, { ...BASE, ...(top && { top }) }).ranks.map(({ index }) => index)
    t.same(order(), [1, 2, 0])
    t.same(order(2), [1, 2])
  })

  t.test('hostile documents: nothing but errors of the gateway', async () => {
    const bodies = Object.values(SAMPLES).flatMap(sample => {
      const body = onlyGatewayErrors(() =>
        client.encodeRequest({ ...BASE, ...sample }, smallTarget(codec.client.carries).target),
      )
      return body instanceof GatewayError ? [] : [plain(body)]
    })
    const answers = [
      plain(server.encodeResult({ model: 'm', ranks: [{ index: 1, score: 0.5 }], input: 1 }, BASE, MADE_UP)),
    ]
    fc.assert(
      fc.property(hostileObject(bodies), hostile(answers), (body, answer) => {
        const request = onlyGatewayErrors(() => server.decodeRequest(body, head))
        const result = onlyGatewayErrors(() => client.decodeResult(answer, BASE))
        onlyGatewayErrors(() => client.decodeError(400, answer))
        if (!(result instanceof GatewayError)) {
          // Whatever came, an answer names documents that are there, each once, best first.
          const indices = result.ranks.map(({ index }) => index)
          if (new Set(indices).size !== indices.length || indices.some(one => BASE.documents[one] === undefined))
            throw new Error(`places ${indices}`)
          server.encodeResult(result, BASE, MADE_UP)
        }
        if (!(request instanceof GatewayError))
          onlyGatewayErrors(() => client.encodeRequest(request, smallTarget(codec.client.carries).target))
      }),
      { numRuns: 300, endOnFailure: true },
    )
  })
}

const BROKEN: readonly Json[] = [
  'none',
  [null],
  [{ relevance_score: 1 }],
  [{ index: 3, relevance_score: 1 }],
  [{ index: -1, relevance_score: 1 }],
  [{ index: 0.5, relevance_score: 1 }],
  [{ index: '0', relevance_score: 1 }],
  [{ index: 0 }],
  [{ index: 0, relevance_score: 'high' }],
  [
    { index: 0, relevance_score: 1 },
    { index: 0, relevance_score: 0.5 },
  ],
]
