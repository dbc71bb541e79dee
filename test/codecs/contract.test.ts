import t from 'tap'
import { embedContent, embedContents } from '../../src/codecs/embed-content/index.js'
import { embeddings } from '../../src/codecs/embeddings/index.js'
import { images } from '../../src/codecs/images/index.js'
import { rerank, rerankV2 } from '../../src/codecs/rerank/index.js'
import { type OpenApiName, openApiFolder, openApiSchemas } from '../helpers/openapi.js'
import { TEXT_CODECS } from './all.js'
import { contract } from './contract.js'
import { embedContract } from './contract-embed.js'
import { rerankContract } from './contract-rerank.js'
import { uncovered } from './coverage.js'

const skip = openApiFolder() === undefined

for (const codec of TEXT_CODECS) {
  t.test(codec.protocol, t => {
    contract(t, codec, TEXT_CODECS)
    t.end()
  })
}

for (const codec of [embeddings, embedContent, embedContents]) {
  t.test(codec.protocol, t => {
    embedContract(t, codec)
    t.end()
  })
}

for (const codec of [rerank, rerankV2]) {
  t.test(codec.protocol, t => {
    rerankContract(t, codec)
    t.end()
  })
}

/** Counts are of the same requests, so the rows of those hold their members, too. */
const COUNTS: Partial<Record<string, { readonly name: OpenApiName; readonly within?: string }>> = {
  responses: { name: 'responses-count.request' },
  messages: { name: 'messages-count.request' },
  generate: { name: 'generate-count.request', within: 'generateContentRequest' },
}

for (const { protocol, server } of TEXT_CODECS) {
  const count = COUNTS[protocol]
  if (count === undefined) continue
  t.test(`${protocol}: every member of a request for a count has a row`, { skip }, async t => {
    const { name, within } = count
    const members = membersOf(name).filter(member => member !== within)
    const bare = members.map(member => (within === undefined ? member : member.replace(`${within}.`, '')))
    t.ok(bare.length > 100, `${bare.length} members`)
    t.same(uncovered(server.fields, bare), [])
  })
}

const DOCUMENTS: readonly (readonly [OpenApiName, Readonly<Record<string, unknown>>])[] = [
  ...TEXT_CODECS.map(({ protocol, server }) => [`${protocol}.request` as OpenApiName, server.fields] as const),
  ['embeddings.request', embeddings.server.fields],
  ['images.request', images.server.fields],
  ['embed.request', embedContent.server.fields],
  ['embed-batch.request', embedContents.server.fields],
]

for (const [name, fields] of DOCUMENTS) {
  t.test(`${name}: a member that is new at any place would be told`, { skip }, async t => {
    const members = membersOf(name)
    const places = new Set(members.map(member => member.slice(0, Math.max(0, member.lastIndexOf('.')))))
    const added = [...places].map(place => `${place}${place === '' ? '' : '.'}brand_new`)
    // All but what is in members that are left as a whole, or are the gateway's own business.
    const given = Object.entries(fields).flatMap(([row, held]) =>
      typeof held === 'string' || Array.isArray(held) ? [] : [row],
    )
    const isGiven = (member: string): boolean =>
      given.some(row => member.startsWith(`${row}.`) || member.startsWith(`${row}[]`))
    const expected = added.filter(member => !isGiven(member))
    t.ok(expected.includes('brand_new'), 'at the top, at the least')
    const told = uncovered(fields, [...members, ...added])
    t.same(
      expected.filter(member => !told.includes(member)),
      [],
    )
    t.same(
      told.filter(member => !member.endsWith('brand_new')),
      [],
    )
  })

  t.test(`${name}: a row that is missing would be told`, { skip }, async t => {
    const members = membersOf(name)
    for (const row of Object.keys(fields).filter(one => members.includes(one))) {
      const { [row]: _, ...others } = fields
      const inOneAbove = Object.keys(others).some(one => row.startsWith(`${one}.`) || row.startsWith(`${one}[]`))
      if (!inOneAbove) t.ok(uncovered(others, members).includes(row), row)
    }
  })
}

function membersOf(name: OpenApiName): readonly string[] {
  const { schemas, root } = openApiSchemas(name)
  return schemas.members(root)
}

t.test('what no row covers is reported', async t => {
  const fields = {
    a: { left: 'why' },
    'b[]': 'turns',
    c: 'turns',
    'c.d': 'turns',
    'tools[].citations': 'cite',
  } as const
  const members = ['a', 'a.x', 'b', 'b[].y', 'b[].c', 'b[].d', 'c', 'c.d', 'c.d.e', 'c.d.c', 'c.f', 'ab']
  t.same(uncovered(fields, members), ['b', 'b[].y', 'c.d.e', 'c.f', 'ab'])
  t.same(uncovered(fields, ['tools[].citations.enabled', 'tools[].citations.colour']), ['tools[].citations.colour'])
})
