import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { json } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { CALLER, startTestGateway } from '../helpers/gateway.js'
import { startRawUpstream } from '../helpers/raw-upstream.js'
import { referenceFolder } from '../helpers/recordings.js'
import { replaysOrNone } from '../helpers/replay-stage.js'

/**
 * Every recorded ranking, as each kind of upstream would have told it, reaches clients of either version: the same
 * documents in the same order with the same scores, their texts where the client asked for them.
 */

interface Ranking {
  readonly name: string
  readonly request: { readonly query: string; readonly documents: readonly string[]; readonly top_n?: number }
  readonly answer: Readonly<Record<string, unknown>> & { readonly results: readonly Rank[] }
}

interface Rank {
  readonly index: number
  readonly relevance_score: number
  readonly document?: { readonly text?: string }
}

const TOGETHER = 'vercel-ai/packages/togetherai/src/reranking/__fixtures__/togetherai-reranking.1.json'

/** An answer whose request was not kept. */
function unasked(): Ranking {
  const answer = JSON.parse(readFileSync(join(referenceFolder(), 'recordings', TOGETHER), 'utf8')) as Ranking['answer']
  const documents = Array.from({ length: 6 }, (_, i) => `Document ${i}`)
  return { name: TOGETHER, request: { query: 'a query', documents, top_n: answer.results.length }, answer }
}

const replays = (await replaysOrNone()).filter(({ path }) => path.endsWith('/rerank'))
const rankings: readonly Ranking[] =
  replays.length === 0
    ? []
    : [
        ...replays.map(({ name, request, body }) => ({
          name,
          request: request as unknown as Ranking['request'],
          answer: JSON.parse(body.toString()) as Ranking['answer'],
        })),
        unasked(),
      ]

/** Where each kind is asked, what it calls the number of results, and where these stand in its answer. */
const KINDS = {
  cohere: { top: 'top_n', results: 'results' },
  jina: { top: 'top_n', results: 'results' },
  together: { top: 'top_n', results: 'results' },
  openrouter: { top: 'top_n', results: 'results' },
  vllm: { top: 'top_n', results: 'results' },
  'llama-cpp': { top: 'top_n', results: 'results' },
  voyage: { top: 'top_k', results: 'data' },
} as const

const VERSIONS = ['/v1/rerank', '/v2/rerank'] as const

t.test('there is something to translate', { skip: rankings.length === 0 && 'no recordings here' }, async t => {
  t.ok(rankings.length >= 5, `${rankings.length} rankings`)
})

for (const [kind, { top, results: member }] of Object.entries(KINDS)) {
  t.test(`kind ${kind}`, { skip: rankings.length === 0 && 'no recordings here' }, async t => {
    const upstream = await startRawUpstream(t)
    const gateway = await startTestGateway(
      t,
      `version: 1\n${CALLER}\nupstreams: { up: { kind: ${kind}, base: "${upstream.origin}", secret: { env: UPSTREAM_KEY } } }\nmodels: { m: up }\n`,
    )
    for (const { name, request, answer } of rankings) {
      const { query, documents, top_n } = request
      const { results, ...rest } = answer
      for (const path of VERSIONS) {
        upstream.answer(json({ ...rest, [member]: results }))
        const asksBack = path === '/v1/rerank'
        const body = { ...request, model: 'm', ...(asksBack && { return_documents: true }) }
        const got = await gateway.request(path, { body })
        t.equal(got.status, 200, `${name}, ${path}: ${got.text}`)
        const sent = upstream.requests.items.at(-1)?.json() as Readonly<Record<string, unknown>>
        t.match(sent, { query, documents, ...(top_n !== undefined && { [top]: top_n }) }, 'what was asked')
        const told = got.json() as { results: readonly Rank[]; meta?: unknown; usage?: unknown }
        t.same(told.results.map(placed), results.map(placed), 'documents and scores')
        const isTranslated = upstream.requests.items.at(-1)?.target !== path || member !== 'results'
        if (asksBack && isTranslated) {
          const texts = told.results.map(({ document }) => document?.text)
          t.same(texts, results.map(({ index }) => documents[index]), 'texts') // biome-ignore format: one line
        }
        t.match(got.text, told.meta === undefined ? /"usage"/ : /"meta"/, 'what it cost')
      }
    }
  })
}

function placed({ index, relevance_score }: Rank): readonly number[] {
  return [index, relevance_score]
}

proveNoLeak(t)
