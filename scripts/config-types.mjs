import { readFileSync } from 'node:fs'
import { parseDays, parseDuration, parsePercentage, parseSize } from '../dist/config/units.js'

/** Longest mapping that is written in one line, in characters, without what is before it. */
const MAX_LINE_CHARS = 80

/**
 * What `schemas/gateway.schema.json` says, in TypeScript: the types of the files as they are written, and the defaults.
 * It reads the part of draft-07 that the schema uses: types, enums, objects, lists, and `if` / `then` / `else` that
 * choose by type, by a constant member, or by a required one.
 */
export function configArtefacts() {
  const [gateway, routes] = ['gateway', 'routes'].map(name =>
    JSON.parse(readFileSync(new URL(`../schemas/${name}.schema.json`, import.meta.url), 'utf8')),
  )
  const { definitions } = gateway
  return [
    ['src/config/raw.generated.ts', () => rawTypes({ ...definitions, gateway, routesFile: routes })],
    ['src/core/feature-settings.generated.ts', () => featureSettings(gateway.properties, definitions)],
    [
      'src/core/defaults.generated.ts',
      () =>
        defaults({
          ...definitions,
          tasks: gateway.properties.tasks,
          ledger: gateway.properties.ledger,
          time_zone: gateway.properties.time_zone,
          transport: gateway.properties.transport,
          workers: gateway.properties.workers,
        }),
    ],
  ]
}

function rawTypes(definitions) {
  const head = `import type { Json } from '../core/json.js'

/**
 * Files as they are written, after the schema has accepted them and before anything is resolved: sizes and durations
 * are still texts, variables are not filled in.
 */
`
  const written = new Map()
  const write = name => {
    if (written.has(name)) return
    const text = declaration(typeName(name), typesOf(definitions[name], definitions))
    written.set(name, text)
    for (const other of Object.keys(definitions)) if (new RegExp(`\\b${typeName(other)}\\b`).test(text)) write(other)
  }
  for (const name of ['gateway', 'routesFile']) write(name)
  return head + [...written.values()].join('')
}

/** Words at the top of the file that are marked `x-feature`: one feature alone reads each, as it is written. */
function featureSettings(properties, definitions) {
  const own = Object.entries(properties).filter(([, node]) => node['x-feature'] === true)
  const all = {
    ...definitions,
    featureSettings: { type: 'object', additionalProperties: false, properties: Object.fromEntries(own) },
  }
  const written = new Map()
  const write = name => {
    if (written.has(name)) return
    const text = declaration(typeName(name), typesOf(all[name], all))
    written.set(name, text)
    for (const other of Object.keys(all)) if (new RegExp(`\\b${typeName(other)}\\b`).test(text)) write(other)
  }
  write('featureSettings')
  const types = [...written.values()]
    .join('')
    .replace(/\bRaw([A-Z])/g, '$1')
    .replace(/^export (?!type FeatureSettings\b)/gm, '')
  const head = types.includes('Json') ? "import type { Json } from './json.js'\n\n" : ''
  const words = own.map(([name]) => `'${name}'`).join(', ')
  return `${head}/** What is written at the top of the file for single features; variables are filled in. */
${types}
export const FEATURE_WORDS: readonly (keyof FeatureSettings)[] = [${words}]
`
}

/** A type by its forms. A mapping beside other forms gets a name of its own. */
function declaration(name, forms) {
  const [mapping, ...more] = forms.filter(form => form.startsWith('{'))
  if (forms.length === 1 || mapping === undefined || more.length > 0)
    return `export type ${name} = ${forms.join(' | ')}\n`
  const all = forms.map(form => (form === mapping ? `${name}Mapping` : form)).join(' | ')
  return `export type ${name} = ${all}\nexport type ${name}Mapping = ${mapping}\n`
}

/** A text, number or flag with rules that types cannot say. It needs no name. */
function isPlain(node) {
  return ['string', 'integer', 'number', 'boolean'].includes(node.type)
}

function typeName(definition) {
  return `Raw${definition[0].toUpperCase()}${definition.slice(1)}`
}

const typeOf = (node, definitions) => typesOf(node, definitions).join(' | ')

/** The forms that a value may have. */
function typesOf(node, definitions) {
  if (node === true) return ['Json']
  if (node.$ref !== undefined) {
    const name = target(node.$ref)
    return isPlain(definitions[name]) ? typesOf(definitions[name], definitions) : [typeName(name)]
  }
  if (node.const !== undefined) return [literal(node.const)]
  if (node.enum !== undefined) return node.enum.map(literal)
  const types = [node.type ?? (node.properties === undefined ? [] : 'object')].flat()
  const forms = types.flatMap(type => alternatives({ ...node, type }, definitions))
  const texts = new Set(forms.map(form => single(form, definitions)))
  return texts.size === 0 ? ['Json'] : [...texts]
}

/** A node of one type without its conditions: one node for each of the branches that may hold. */
function alternatives({ if: condition, then, else: otherwise, ...node }, definitions) {
  if (condition === undefined) return [node]
  if (condition.type !== undefined) {
    return alternatives(merged(node, (condition.type === node.type ? then : otherwise) ?? {}, definitions), definitions)
  }
  const [[member, constant] = []] = Object.entries(condition.properties ?? {})
  const branches = [
    [then, constant],
    [otherwise, constant && { enum: node.properties[member].enum.filter(value => value !== constant.const) }],
  ]
  return branches.flatMap(([branch, value]) => {
    const chosen = value === undefined ? node : { ...node, properties: { ...node.properties, [member]: value } }
    return alternatives(merged(chosen, branch ?? {}, definitions), definitions)
  })
}

/** A node with what a branch adds. A reference is resolved where the node has members or conditions of its own to keep. */
function merged(node, branch, definitions) {
  if (branch.$ref !== undefined) {
    const bare = node.properties === undefined
    return bare ? { $ref: branch.$ref } : merged(node, definitions[target(branch.$ref)], definitions)
  }
  const properties = { ...branch.properties, ...node.properties }
  const required = [...(node.required ?? []), ...(branch.required ?? [])]
  const both = { ...node, ...branch, type: node.type, required }
  return Object.keys(properties).length === 0 ? both : { ...both, properties }
}

function single(node, definitions) {
  if (node.$ref !== undefined || node.enum !== undefined) return typeOf(node, definitions)
  switch (node.type) {
    case 'integer':
      return 'number'
    case 'array': {
      const item = typeOf(node.items ?? true, definitions)
      return `readonly ${item.includes(' | ') ? `(${item})` : item}[]`
    }
    case 'object':
      return node.properties === undefined ? map(node, definitions) : mapping(node, definitions)
    default:
      return node.type
  }
}

function map({ additionalProperties: values = true }, definitions) {
  const type = Object.keys(values).length === 0 ? 'Json' : typeOf(values, definitions)
  return `Readonly<Record<string, ${type}>>`
}

function mapping({ properties, required = [] }, definitions) {
  const members = Object.entries(properties).map(([name, value]) => {
    const mark = required.includes(name) ? '' : '?'
    return `readonly ${name}${mark}: ${typeOf(value, definitions)}`
  })
  const line = `{ ${members.join('; ')} }`
  if (line.length <= MAX_LINE_CHARS && !line.includes('\n')) return line
  return `{\n${members.map(member => `  ${member.replaceAll('\n', '\n  ')}\n`).join('')}}`
}

const literal = value => (typeof value === 'string' ? `'${value}'` : String(value))

const target = reference => reference.slice(reference.lastIndexOf('/') + 1)

/** What holds where the files say nothing, by definition. Sizes become bytes, durations milliseconds. */
function defaults(definitions) {
  const sections = Object.entries(definitions).flatMap(([name, { properties = {}, ...whole }]) => {
    if (whole.default !== undefined) return [`  ${name}: ${defaultText(whole)}\n`]
    const members = Object.entries(properties).filter(([, property]) => property.default !== undefined)
    const lines = members.map(([member, property]) => `    ${member}: ${defaultText(property)}\n`)
    return lines.length === 0 ? [] : [`  ${name}: {\n${lines.join('')}  },\n`]
  })
  const head = '/** What holds where the files say nothing. Sizes are in bytes, durations in milliseconds. */\n'
  return `${head}export const DEFAULTS = {\n${sections.join('')}} as const\n`
}

function defaultText({ default: value, $ref: reference = '' }) {
  if (typeof value !== 'string') return `${JSON.stringify(value).replaceAll('"', "'").replaceAll(',', ', ')},`
  const readers = { size: parseSize, duration: parseDuration, days: parseDays, percentage: parsePercentage }
  const read = readers[target(reference)]
  return read === undefined ? `${literal(value)},` : `${read(value)}, // ${value}`
}
