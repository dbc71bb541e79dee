import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

const { parse } = createRequire(import.meta.url)('yaml')
const routes = new URL('../routes/', import.meta.url)
const schema = new URL('../schemas/gateway.schema.json', import.meta.url)

/**
 * What editors offer for names that come with the gateway, each with a text: kinds and interfaces are files, protocols what
 * their routes speak, as names and with what is beside them. They are in the schema as `defaultSnippets` of the definitions of these names.
 */
function words() {
  const interfaces = yamlIn('.')
  const [served, calls, open] = [new Map(), new Map(), new Map()]
  for (const { text } of interfaces) {
    for (const [route, settings] of Object.entries(parse(text).routes ?? {})) {
      const protocol = settings?.protocol
      if (protocol === undefined || served.has(protocol)) continue
      const text = `The protocol of ${route}.`
      served.set(protocol, [protocol, text])
      if (!route.startsWith('WS ')) calls.set(protocol, [protocol, text, { [protocol]: route }])
      const model = settings.model?.from ?? settings.model ?? 'path'
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the form of a snippet
      if (!model.startsWith('path')) open.set(protocol, [protocol, text, { [protocol]: '${1:MODEL}' }])
    }
  }
  return {
    kindName: yamlIn('kinds').map(({ name, text }) => [name, parse(text).description]),
    interfaceName: interfaces.map(({ name, text }) => [name, firstSentence(text)]),
    protocolName: byName(served),
    speaks: byName(calls),
    defaultModels: byName(open),
  }
}

function byName(words) {
  return [...words.values()].toSorted(([a], [b]) => (a < b ? -1 : 1))
}

function yamlIn(folder) {
  const url = new URL(`${folder}/`, routes)
  const files = readdirSync(url).filter(file => file.endsWith('.yaml'))
  return files
    .sort()
    .map(file => ({ name: file.slice(0, -'.yaml'.length), text: readFileSync(new URL(file, url), 'utf8') }))
}

/** Of the comment at the top of a file, without the line for editors. */
function firstSentence(text) {
  const lines = text.split('\n').filter(line => !line.startsWith('# yaml-language-server'))
  const comment = lines.slice(
    0,
    lines.findIndex(line => !line.startsWith('#')),
  )
  const [sentence = ''] = comment
    .map(line => line.replace(/^# ?/, ''))
    .join(' ')
    .trim()
    .split(/(?<=\.)\s/)
  return sentence
}

/** Puts the words into the schema; with `check` only tells whether they are there. */
export function writeEditorWords(check) {
  const before = readFileSync(schema, 'utf8')
  let after = before
  for (const [definition, list] of Object.entries(words())) {
    const start = after.indexOf(`\n    "${definition}": {`)
    const from = after.indexOf('"defaultSnippets": [', start)
    if (start < 0 || from < 0) throw new Error(`${fileURLToPath(schema)} lacks the snippets of ${definition}`)
    const snippets = list.map(([label, description, body = label]) => snippet({ label, description, body })).join(',\n')
    const rest = after
      .slice(from)
      .replace(/^"defaultSnippets": \[(?:\]|[\s\S]*?\n {6}\])/, () => `"defaultSnippets": [\n${snippets}\n      ]`)
    after = after.slice(0, from) + rest
  }
  if (after === before) return true
  if (!check) writeFileSync(schema, after)
  return false
}

function snippet(value) {
  const members = Object.entries(value).map(([key, value]) => `          ${JSON.stringify(key)}: ${written(value)}`)
  return `        {\n${members.join(',\n')}\n        }`
}

/** A text, or an object of one member. */
function written(value) {
  if (typeof value === 'string') return JSON.stringify(value)
  const members = Object.entries(value).map(([key, text]) => `${JSON.stringify(key)}: ${JSON.stringify(text)}`)
  return `{ ${members.join(', ')} }`
}
