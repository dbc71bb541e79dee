import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../src/core/package-root.js'

/** The page that compares: each claim about another project has a source of that project, and each of ours leads to our page. */

const PAGE = readFileSync(join(packageRoot(), 'docs/comparison.md'), 'utf8')

/** The repository of each, which its sources are in. */
const REPOSITORIES: Readonly<Record<string, string>> = {
  LiteLLM: 'BerriAI/litellm',
  'new-api': 'QuantumNous/new-api',
  Bifrost: 'maximhq/bifrost',
  Portkey: 'Portkey-AI/gateway',
  agentgateway: 'agentgateway/agentgateway',
  AISIX: 'api7/aisix',
  'Envoy AI Gateway': 'envoyproxy/ai-gateway',
  GoModel: 'ENTERPILOT/GoModel',
}
/** The sources that a claim needs: by the row of the table, or by the bold words of a list. */
const TOPICS: Readonly<Record<string, string>> = {
  'Configured by': 'configuration',
  'Keys in the file': 'configuration',
  'A changed file goes live': 'configuration',
  'An unknown setting is an error': 'configuration',
  'Chat, responses, messages, `generateContent`, each to each': 'translation',
  'Says what translation dropped': 'translation',
  Budgets: 'budgets',
  'Tasks kept in a store of the gateway': 'tasks',
  "Imports others' configurations": 'imports',
  'Tests of a configuration, offline': 'tests',
  'Caches of answers': 'caches',
  Guardrails: 'guardrails',
  MCP: 'MCP',
  'Jobs of any request': 'tasks',
  'Users who sign up and pay': 'users',
  'Kubernetes resources': 'Kubernetes',
  'More throughput of one process': 'throughput',
}
/** Of "no" there is no page; it is said in the first lines what it means. */
const NOTHING = /^(?:no|–|not verified)$/

interface Sources {
  readonly topics: readonly string[]
  readonly links: readonly string[]
}

function sourcesOf(page: string): ReadonlyMap<string, Sources> {
  const [, part = ''] = page.split('\n## Sources\n')
  return new Map(
    [...part.matchAll(/^- ([^:]+): (.+)$/gm)].map(([, name = '', line = '']) => {
      const links = [...line.matchAll(/\[([^\]]+)\]\(([^)]+)\)/g)]
      return [name, { topics: links.map(link => link[1] ?? ''), links: links.map(link => link[2] ?? '') }]
    }),
  )
}

interface Claim {
  readonly about: string
  readonly topic: string | undefined
  readonly where: string
}

const cells = (line: string): readonly string[] =>
  line
    .split('|')
    .slice(1, -1)
    .map(cell => cell.trim())

/** What the page claims about others. */
function claimsOf(page: string): readonly Claim[] {
  const [head = '', , ...rows] = page.split('\n').filter(line => line.startsWith('|'))
  const names = cells(head)
    .slice(2)
    .map(name => Object.keys(REPOSITORIES).find(known => name.startsWith(known)) ?? name)
  const table = rows.flatMap(row => {
    const [where = '', , ...others] = cells(row)
    return others.flatMap((cell, nth) =>
      NOTHING.test(cell) ? [] : [{ about: names[nth] ?? cell, topic: TOPICS[where], where }],
    )
  })
  const [, list = ''] = page.split('\n## What others have and this one has not\n')
  const items = (list.split('\n## ')[0] ?? '').split(/^- /m).slice(1)
  const listed = items.flatMap(item => {
    const [, where = ''] = /^\*\*([^*]+)\*\*/.exec(item) ?? []
    const named = Object.keys(REPOSITORIES).filter(name => item.includes(name))
    return (named.length === 0 ? [''] : named).map(about => ({ about, topic: TOPICS[where], where }))
  })
  return [...table, ...listed]
}

/** Claims that have no source. */
function unsourced(page: string): readonly string[] {
  const sources = sourcesOf(page)
  return claimsOf(page).flatMap(({ about, topic, where }) => {
    const has = topic !== undefined && sources.get(about)?.topics.includes(topic)
    return has ? [] : [`${where}: ${about}`]
  })
}

t.test('each claim about another project has a source', async t => {
  const claims = claimsOf(PAGE)
  t.ok(claims.length >= 50, `${claims.length} claims`)
  t.same(unsourced(PAGE), [])
  const without = PAGE.replace(/^- Bifrost: .*\n/m, '').replace('- **MCP**', '- **Plugins**: LiteLLM\n- **MCP**')
  t.ok(unsourced(without).includes('Budgets: Bifrost'), 'a claim without a source is found')
  t.ok(unsourced(without).includes('Plugins: LiteLLM'), 'and one of a topic that nothing proves')
})

t.test(
  'sources are files of that project, at a commit or a version, and the page says when they were read',
  async t => {
    const sources = sourcesOf(PAGE)
    t.same([...sources.keys()].toSorted(), Object.keys(REPOSITORIES).toSorted())
    for (const [name, { links }] of sources) {
      const place = `https://github.com/${REPOSITORIES[name]}/blob/`
      for (const link of links) {
        t.ok(link.startsWith(place), `${name}: ${link}`)
        t.match(link.slice(place.length), /^(?:[0-9a-f]{40}|v\d+\.\d+\.\d+)\/[\w./-]+\.\w+$/, link)
      }
    }
    t.match(
      PAGE.slice(0, 300),
      /^# .+\n\nRead in .*\b(?:January|February|March|April|May|June|July|August|September|October|November|December) 20\d\d/,
    )
  },
)

t.test('what the table says of this gateway leads to a page of ours', async t => {
  const [head = '', , ...rows] = PAGE.split('\n').filter(line => line.startsWith('|'))
  t.equal(cells(head)[1], 'This gateway')
  for (const row of rows) {
    const [where = '', own = ''] = cells(row)
    t.match(own, /^\[[^\]]+\]\([\w/-]+\.md(?:#[\w-]+)?\)$/, where)
  }
  t.equal(rows.length, 10)
})

t.test('the page names what others do better, and when to take them', async t => {
  const [, better = '', take = ''] =
    /\n## What others have and this one has not\n([\s\S]*?)\n## When to take which\n([\s\S]*?)\n## /.exec(PAGE) ?? []
  t.ok((better.match(/^- \*\*/gm)?.length ?? 0) >= 5, better)
  for (const name of ['LiteLLM', 'new-api', 'Envoy AI Gateway', 'agentgateway']) t.match(take, `- **${name}**`)
})
