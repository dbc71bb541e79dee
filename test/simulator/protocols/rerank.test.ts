import t from 'tap'
import { relevance } from '../../../simulator/src/protocols/rerank/index.js'
import { fc } from '../../helpers/property.js'
import { post, simulator } from '../support.js'

const V1 = '/v1/rerank'
const V2 = '/v2/rerank'
const CAPITALS = ['Paris is the capital of France.', 'Ruby is a language.', 'The capital of Norway is Oslo.']

interface Ranked {
  readonly results: readonly { readonly index: number; readonly relevance_score: number; readonly document?: unknown }[]
}

async function ask(t: Parameters<typeof simulator>[0], path: string, body: object): Promise<Ranked> {
  const { status, text } = await post(await simulator(t), path, { model: 'sim-rerank', ...body })
  t.equal(status, 200, text)
  return JSON.parse(text)
}

t.test('documents come in the order of their relevance, each with its place and its score', async t => {
  for (const path of [V1, V2]) {
    const { results } = await ask(t, path, { query: 'the capital of Norway', documents: CAPITALS })
    t.same(
      results.map(({ index }) => index),
      [2, 0, 1],
    )
    t.ok(results.every(({ relevance_score: score }) => score >= 0 && score < 1))
    t.equal(results[2]?.relevance_score, 0, 'no word in common')
    t.notOk(results.some(one => 'document' in one))
  }
})

t.test('top_n cuts the list, and may be more than there is', async t => {
  for (const path of [V1, V2]) {
    t.equal((await ask(t, path, { query: 'Oslo', documents: CAPITALS, top_n: 2 })).results.length, 2)
    t.equal((await ask(t, path, { query: 'Oslo', documents: CAPITALS, top_n: 20 })).results.length, 3)
  }
})

t.test('documents are given back unchanged; a text in an object', async t => {
  const own = { text: 'Oslo', page: 7 }
  const body = { query: 'Oslo', documents: ['a', own], return_documents: true }
  const { results } = await ask(t, V1, body)
  t.same(
    results.map(({ document }) => document),
    [own, { text: 'a' }],
  )
})

t.test('what counts of an object are the members that are named, else its text', async t => {
  const documents = [{ title: 'Oslo', text: 'no' }, { title: 'no', text: 'Oslo' }, { image: 'https://a.example/b.png' }]
  const first = async (more: object) => (await ask(t, V1, { query: 'Oslo', documents, ...more })).results[0]?.index
  t.equal(await first({}), 1)
  t.equal(await first({ rank_fields: ['title'] }), 0)
})

t.test('usage: tokens in the first version, searches of a hundred documents in the second', async t => {
  const documents = Array.from({ length: 101 }, (_, i) => `document ${i}`)
  t.match(await ask(t, V1, { query: 'a b', documents }), {
    id: /^rerank-/,
    object: 'list',
    model: 'sim-rerank',
    usage: { prompt_tokens: Number, total_tokens: Number },
  })
  t.match(await ask(t, V2, { query: 'a b', documents }), {
    id: /^[0-9a-f]{8}-/,
    meta: { api_version: { version: '2' }, billed_units: { search_units: 2 }, tokens: { input_tokens: Number } },
  })
})

t.test('only the first tokens of a document count', async t => {
  const documents = [`Norway ${'x '.repeat(50)}Oslo`, 'Norway']
  const scores = (await ask(t, V2, { query: 'Oslo', documents, max_tokens_per_doc: 5 })).results
  t.ok(scores.every(({ relevance_score: score }) => score === 0))
  t.ok(((await ask(t, V2, { query: 'Oslo', documents })).results[0]?.relevance_score ?? 0) > 0)
})

const REFUSED: readonly (readonly [string, object, string, RegExp])[] = [
  ['without a model', { model: undefined }, V1, /'model'/],
  ['with a model without a name', { model: '' }, V1, /'model'/],
  ['without a query', { query: undefined }, V1, /'query'/],
  ['with an empty query', { query: '' }, V1, /'query'/],
  ['without documents', { documents: undefined }, V1, /'documents'/],
  ['with no documents', { documents: [] }, V1, /'documents'/],
  ['with documents that are a text', { documents: 'a' }, V1, /'documents'/],
  ['with a document that is a number', { documents: ['a', 1] }, V1, /'documents\[1\]'/],
  ['with a document without a text', { documents: [{}] }, V1, /'documents\[0\].text'/],
  ['with a document that is an object', { documents: [{ text: 'a' }] }, V2, /'documents\[0\]'/],
  ['with no results wanted', { top_n: 0 }, V1, /'top_n'/],
  ['with too many documents', { documents: Array(10_001).fill('a') }, V2, /maximum length 10000/],
]

for (const [how, more, path, message] of REFUSED) {
  t.test(`refused: ${path} ${how}`, async t => {
    const body = { model: 'sim-rerank', query: 'a', documents: ['a'], ...more }
    const { status, text } = await post(await simulator(t), path, body)
    t.ok(status === 400 || status === 404, text)
    const refusal = JSON.parse(text)
    t.match(path === V1 ? refusal.error : refusal, { message })
    if (path === V2) t.same(Object.keys(refusal), ['id', 'message'])
  })
}

const word = fc.constantFrom('red', 'green', 'blue', 'wall', 'roof', 'Ωmega', '東京')
const sentence = fc.array(word, { maxLength: 12 }).map(words => words.join(' '))

t.test('property: scores lie from 0 to 1, and are 0 where no word is shared', async () => {
  fc.assert(
    fc.property(sentence, fc.array(sentence, { minLength: 1, maxLength: 8 }), (query, documents) => {
      const scores = relevance(query, documents)
      const words = new Set(query.split(' ').filter(each => each !== ''))
      return scores.every((score, i) => {
        const shares = (documents[i] ?? '').split(' ').some(each => words.has(each))
        return score >= 0 && score < 1 && score > 0 === shares
      })
    }),
  )
})

t.test('property: the order is that of a plain BM25', async () => {
  fc.assert(
    fc.property(sentence, fc.array(sentence, { minLength: 1, maxLength: 8 }), (query, documents) => {
      const scores = relevance(query, documents)
      const plain = documents.map(document => bm25(query, document, documents))
      return scores.every((a, i) =>
        scores.every((b, j) => {
          const far = Math.abs((plain[i] ?? 0) - (plain[j] ?? 0)) > 1e-9
          return !far || a > b === (plain[i] ?? 0) > (plain[j] ?? 0)
        }),
      )
    }),
  )
})

t.test('property: a document that repeats the word of a query never falls behind its rival', async () => {
  fc.assert(
    fc.property(word, fc.array(word, { minLength: 1, maxLength: 9 }), (query, rest) => {
      const others = rest.filter(each => each !== query)
      const padded = (times: number): string =>
        [...Array<string>(times).fill(query), ...others, ...FILLER.slice(times)].join(' ')
      const [once = 0, twice = 0] = relevance(query, [padded(1), padded(2), 'other'])
      return twice > once
    }),
  )
})

const FILLER = ['x', 'y', 'z', 'w']

/** The textbook's formula, word by word. */
function bm25(query: string, document: string, all: readonly string[]): number {
  const split = (text: string): string[] =>
    text
      .toLowerCase()
      .split(' ')
      .filter(each => each !== '')
  const own = split(document)
  const mean = all.reduce((sum, one) => sum + split(one).length, 0) / all.length
  return [...new Set(split(query))].reduce((sum, term) => {
    const often = own.filter(each => each === term).length
    const having = all.filter(one => split(one).includes(term)).length
    const rarity = Math.log((all.length - having + 0.5) / (having + 0.5) + 1)
    return often === 0 ? sum : sum + (rarity * often * 2.2) / (often + 1.2 * (0.25 + (0.75 * own.length) / mean))
  }, 0)
}
