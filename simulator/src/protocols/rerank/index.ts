import { compatible } from '../../families/compatible.js'
import { describe, Fields } from '../../families/fields.js'
import { wrongType } from '../../families/refusals.js'
import { rerankErrors } from '../../families/rerank.js'
import { spoiled } from '../../faults/usage.js'
import { isObject } from '../../json.js'
import { json, type Protocol } from '../../protocol.js'
import { rank, textOfEither } from './request.js'

const MODELS = ['sim-rerank']
/** One search is a query with so many documents. */
const DOCUMENTS_PER_SEARCH = 100

/** `POST /v1/rerank`: documents are texts or objects, and stand in the results where that is asked for. */
const first: Protocol = {
  method: 'POST',
  path: '/v1/rerank',
  body: 'json',
  family: compatible,
  models: MODELS,
  answer: ({ body: object, seed, faults }) => {
    const body = new Fields(object)
    const fields = body.raw('rank_fields') === undefined ? ['text'] : body.strings('rank_fields')
    const { model, documents, ranks, tokens } = rank(body, (document, param) => textOfEither(document, param, fields))
    const isTold = body.boolean('return_documents') ?? false
    const results = ranks.map(one => {
      if (!isTold) return one
      const document = documents[one.index]
      return { ...one, document: isObject(document) ? document : { text: document } }
    })
    const usage = spoiled({ prompt_tokens: tokens, total_tokens: tokens }, faults)
    return json({ id: `rerank-${seed.fork('id').hex(32)}`, object: 'list', model, results, usage })
  },
}

/** `POST /v2/rerank`: documents are texts. */
const second: Protocol = {
  method: 'POST',
  path: '/v2/rerank',
  body: 'json',
  family: rerankErrors,
  models: MODELS,
  answer: ({ body: object, seed, faults }) => {
    const { documents, ranks, tokens } = rank(new Fields(object), (document, param) => {
      if (typeof document === 'string') return document
      throw wrongType(param, 'a string', describe(document))
    })
    const meta = spoiled(
      {
        billed_units: { search_units: Math.ceil(documents.length / DOCUMENTS_PER_SEARCH) },
        tokens: { input_tokens: tokens },
      },
      faults,
    )
    const id = seed.fork('id').hex(32).replace(UUID, '$1-$2-$3-$4-$5')
    return json({ id, results: ranks, meta: { api_version: { version: '2' }, ...meta } })
  },
}

const UUID = /^(.{8})(.{4})(.{4})(.{4})(.{12})$/

export const RERANK: readonly Protocol[] = [first, second]
