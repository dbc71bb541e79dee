// The table of docs/providers.md: for each shipped kind, what the gateway makes of each operation, as compiled plans say.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(new URL('../routes/kinds/', import.meta.url))

/**
 * Columns: a title, and requests of the operation, in each protocol that has it. What the gateway answers by itself,
 * as lists of models, does not depend on kinds.
 */
const OPERATIONS = [
  ['chat', 'POST /v1/chat/completions'],
  ['responses', 'POST /v1/responses'],
  ['messages', 'POST /v1/messages'],
  ['generate', 'POST /v1beta/models/m:generateContent'],
  ['converse', 'POST /model/m/converse'],
  [
    'token counts',
    'POST /v1/messages/count_tokens',
    'POST /v1/responses/input_tokens',
    'POST /v1beta/models/m:countTokens',
  ],
  ['completions', 'POST /v1/completions'],
  ['embeddings', 'POST /v1/embeddings'],
  ['embed content', 'POST /v1beta/models/m:embedContent'],
  ['rerank', 'POST /v1/rerank'],
  ['moderations', 'POST /v1/moderations'],
  ['images', 'POST /v1/images/generations'],
  ['edits', 'POST /v1/images/edits'],
  ['variations', 'POST /v1/images/variations'],
  ['predict', 'POST /v1beta/models/m:predict'],
  ['speech', 'POST /v1/audio/speech'],
  ['transcriptions', 'POST /v1/audio/transcriptions'],
  ['translations', 'POST /v1/audio/translations'],
  ['realtime', 'WS /v1/realtime'],
  ['videos', 'POST /v1/videos'],
  ['image tasks', 'POST /mj/submit/imagine'],
  ['files', 'POST /v1/files', 'POST /v1/messages/files', 'POST /upload/v1beta/files'],
  ['batches', 'POST /v1/batches', 'POST /v1/messages/batches', 'POST /v1beta/models/m:batchGenerateContent'],
]

/** Files of routes/more, each with a request that stands for it. */
const INCLUDED = [
  ['dify', 'POST /v1/chat-messages'],
  ['ollama', 'POST /api/chat'],
  ['pictures', 'POST /v1/pictures'],
  ['songs', 'POST /v1/songs'],
  ['transcripts', 'POST /v1/transcripts'],
]

/** Kinds that are for tests, or for others to build on. */
const isShown = name => !name.startsWith('simulator') && name !== 'bearer'

/** Markdown: a line for each kind. */
export async function providers(built) {
  const { loadPlan } = await built('runtime/load.js')
  const names = readdirSync(folder)
    .filter(file => file.endsWith('.yaml'))
    .map(file => file.slice(0, -'.yaml'.length))
    .filter(isShown)
    .sort()
  const rows = []
  for (const name of names) rows.push(await row(name, loadPlan))
  const head = ['kind', ...OPERATIONS.map(([title]) => title), 'include']
  return [
    `${names.length} kinds. \`●\` relayed, \`○\` translated, empty: not served. Token counts, files and batches: in any of the protocols; counts may be estimates.`,
    '',
    line(head),
    `|---|${OPERATIONS.map(() => ':-:').join('|')}|---|`,
    ...rows.map(line),
  ].join('\n')
}

async function row(name, loadPlan) {
  const plan = await planOf(name, loadPlan)
  const included = INCLUDED.filter(([, request]) => markOf(plan, request) !== '').map(([file]) => file)
  return [`\`${name}\``, ...OPERATIONS.map(([, ...requests]) => bestOf(plan, requests)), included.join(', ')]
}

/** The mark of the request that passes with the least change. */
function bestOf(plan, requests) {
  const marks = requests.map(request => markOf(plan, request))
  return ['●', '○'].find(mark => marks.includes(mark)) ?? ''
}

function markOf(plan, request) {
  const [method, path] = request.split(' ')
  const { route } = plan.match(method, path)
  if (route === undefined) throw new Error(`no route serves ${request}`)
  const named = route.model === undefined ? '' : request.includes('/mj/') ? 'midjourney' : 'm'
  const exchange = route.resolve(named)?.groups[0]?.exchanges[0]
  if (exchange === undefined) return ''
  return exchange.translation === undefined ? '●' : '○'
}

/** The plan of a file that has one upstream of this kind, and a model on it. */
async function planOf(name, loadPlan) {
  const include = INCLUDED.map(([file]) => `shipped:${file}`).join(', ')
  const models = `\nmodels: { m: up, midjourney: up }\ninclude: [${include}]\n`
  const base = ', base: "https://llm.eu-central-1.example.com"'
  // With recordings: those that need no address.
  for (const more of ['', base, ', recordings: "."']) {
    const text = `version: 1\nupstreams: { up: { kind: ${name}${more} } }${models}`
    const options = { file: join(folder, 'gateway.yaml'), text: Buffer.from(text), env: {}, secrets: 'assume' }
    const { plan } = await loadPlan({ ...options, generated: () => undefined })
    if (plan !== undefined) return plan
  }
  throw new Error(`kind ${name} makes no plan with a base alone`)
}

function line(cells) {
  return `| ${cells.join(' | ')} |`
}
