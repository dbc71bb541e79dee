// The coverage tables of docs/reference/translation.md, made of what the codecs say of themselves: `fields` (what of a client's
// request the gateway can hold) and `carries` (what of that goes out in a protocol). A test holds both to the code.
import { existsSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { HEAR_FIELDS, SPEAK_FIELDS } from '../dist/core/audio.js'
import { EMBED_FIELDS } from '../dist/core/embed.js'
import { FIELDS } from '../dist/core/fields.js'
import { EDIT_FIELDS, IMAGE_FIELDS } from '../dist/core/image.js'
import { RERANK_FIELDS } from '../dist/core/rerank.js'

const codecs = new URL('../dist/codecs/', import.meta.url)

/** Order of the sections. Codecs that are not here come after these. */
const ORDER = [
  'chat',
  'responses',
  'messages',
  'generate',
  'converse',
  'embeddings',
  'embed-contents',
  'embed-content',
  'rerank',
  'rerank.v2',
  'images.generations',
  'predict',
  'images.edits',
  'speech',
  'transcriptions',
  'translations',
]

/** Markdown: a section for each protocol that clients speak, with a column for each protocol that it is translated to. */
export async function translation() {
  const all = await everyCodec()
  const text = sections(all, 'text', FIELDS)
  const embed = sections(all, 'embed', EMBED_FIELDS)
  const rerank = sections(all, 'rerank', RERANK_FIELDS)
  const images = sections(all, 'image', IMAGE_FIELDS)
  const edits = sections(all, 'edit', EDIT_FIELDS)
  const speech = sections(all, 'speak', SPEAK_FIELDS)
  const heard = [...sections(all, 'transcribe', HEAR_FIELDS), ...sections(all, 'translate', HEAR_FIELDS)]
  return [...text, ...embed, ...rerank, ...images, ...edits, ...speech, ...heard].join('\n\n')
}

/** Every codec that a folder of src/codecs exports. */
export async function everyCodec() {
  const files = readdirSync(fileURLToPath(codecs)).map(name => new URL(`${name}/index.js`, codecs))
  const modules = await Promise.all(files.filter(file => existsSync(file)).map(file => import(file)))
  return modules
    .flatMap(module => Object.values(module))
    .filter(value => typeof value === 'object' && value !== null && 'operation' in value && 'protocol' in value)
    .sort((a, b) => place(a) - place(b))
}

function place({ protocol }) {
  const at = ORDER.indexOf(protocol)
  return at < 0 ? ORDER.length : at
}

const TITLES = {
  ...{ text: 'Text', embed: 'Embeddings', rerank: 'Reranking', image: 'Images', edit: 'Edits of images' },
  ...{ speak: 'Speech', transcribe: 'Transcripts', translate: 'Translations of speech' },
}

function sections(all, operation, names) {
  const mine = all.filter(codec => codec.operation === operation)
  const servers = mine.filter(({ server }) => Object.keys(server.fields).length > 0)
  return servers.flatMap(server => {
    const targets = mine.filter(codec => codec !== server)
    return [
      `## ${TITLES[operation]}: clients of \`${server.protocol}\``,
      carried(server, targets, names),
      ...stays(server),
    ]
  })
}

/** Each canonical field that the client's protocol can say: the members that say it, and what becomes of it. */
function carried(server, targets, names) {
  const held = byField(server.server.fields)
  const rows = Object.entries(names)
    .filter(([field]) => held.has(field))
    .map(([field, title]) => [
      `${title}<br>${held.get(field).map(code).join(', ')}`,
      ...targets.map(({ client }) => outcome(client.carries[field])),
    ])
  const unsaid = Object.entries(names).filter(([field]) => !held.has(field))
  return [
    table([`\`${server.protocol}\` →`, ...targets.map(({ protocol }) => code(protocol))], rows),
    ...(unsaid.length === 0
      ? []
      : ['', `What \`${server.protocol}\` itself cannot say: ${unsaid.map(([, title]) => lower(title)).join('; ')}.`]),
  ].join('\n')
}

/** Members that no other protocol gets. */
function stays({ protocol, server: { fields } }) {
  const why = held => {
    if (typeof held !== 'object' || Array.isArray(held)) return undefined
    return 'here' in held ? `done by the gateway: ${held.here}` : `**dropped**: ${held.left}`
  }
  const rows = Object.entries(fields)
    .map(([member, held]) => [member, why(held)])
    .filter(([member, reason]) => reason !== undefined && !parents(member).some(one => why(fields[one]) === reason))
    .map(([member, reason]) => [code(member), reason])
  if (rows.length === 0) return []
  return [`Members of \`${protocol}\` that reach no other protocol:`, table(['Member', 'What becomes of it'], rows)]
}

/** The members that hold each field, without those within another one. */
function byField(fields) {
  const held = new Map()
  const holds = (member, field) => [fields[member]].flat().includes(field)
  for (const [member, what] of Object.entries(fields)) {
    for (const field of typeof what === 'string' ? [what] : Array.isArray(what) ? what : []) {
      if (parents(member).some(one => holds(one, field))) continue
      held.set(field, [...(held.get(field) ?? []), member])
    }
  }
  return held
}

/** `a[].b.c` is within `a[].b`, `a[]` and `a`. */
function parents(member) {
  return [...member.matchAll(/\[\]|\./g)].flatMap(({ 0: mark, index }) =>
    mark === '.' ? [member.slice(0, index)] : [member.slice(0, index), member.slice(0, index + 2)],
  )
}

function outcome(carry) {
  if (carry === 'carried') return 'carried'
  const [[kind, why]] = Object.entries(carry)
  return `**${kind}**: ${why}`
}

function table(head, rows) {
  const line = cells => `| ${cells.map(cell => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`
  return [line(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n')
}

function code(text) {
  return `\`${text}\``
}

function lower(title) {
  return /^[A-Z][a-z]/.test(title) ? title[0].toLowerCase() + title.slice(1) : title
}
