import t from 'tap'
import { MODERATION_WORDS } from '../../../simulator/src/index.js'
import { post, sdk, simulator } from '../support.js'

t.test('one result for each text, in thirteen categories', async t => {
  const client = sdk(await simulator(t))
  const answer = await client.moderations.create({
    model: 'sim-moderate',
    input: ['What a fine day', 'You stupid loser'],
  })
  t.match(answer, { id: /^modr-/, model: 'sim-moderate', results: [{ flagged: false }, { flagged: true }] })
  const [fine, rude] = answer.results
  t.equal(Object.keys(fine?.categories ?? {}).length, 13)
  t.match(rude?.categories, { harassment: true, violence: false })
  t.same(rude?.category_applied_input_types.violence, ['text'])
  for (const score of Object.values(rude?.category_scores ?? {})) t.ok(score >= 0 && score <= 1)
  t.ok((rude?.category_scores.harassment ?? 0) > 0.5)
})

t.test('one result for text and images together', async t => {
  const client = sdk(await simulator(t))
  const answer = await client.moderations.create({
    input: [
      { type: 'text', text: 'a fight' },
      { type: 'image_url', image_url: { url: 'https://images.example/a.png' } },
    ],
  })
  t.equal(answer.results.length, 1)
  t.match(answer.results[0], {
    flagged: true,
    categories: { violence: true },
    category_applied_input_types: { violence: ['text', 'image'], hate: ['text'] },
  })
})

t.test('every published word is found, in its category, and only as a word', async t => {
  const client = sdk(await simulator(t))
  const words = Object.entries(MODERATION_WORDS).flatMap(([category, list]) => list.map(word => ({ category, word })))
  const { results } = await client.moderations.create({
    input: words.map(({ word }) => `Well, ${word.toUpperCase()}!`),
  })
  for (const [index, { category, word }] of words.entries()) {
    t.match(results[index], { flagged: true, categories: { [category]: true } }, word)
  }
  const innocent = await client.moderations.create({ input: 'chatelaine, kicker, woundwort' })
  t.equal(innocent.results[0]?.flagged, false)
})

t.test('refused: no input, none in the list, a part of another type', async t => {
  const upstream = await simulator(t)
  const refused = async (body: object) => JSON.parse((await post(upstream, '/v1/moderations', body)).text).error
  t.match(await refused({}), { code: 'missing_required_parameter', param: 'input' })
  t.match(await refused({ input: [] }), { code: 'empty_array', param: 'input' })
  t.match(await refused({ input: [{ type: 'x' }] }), { code: 'invalid_value', param: 'input[0].type' })
})
