/**
 * The configuration reference as Markdown: a section with a table for each mapping of the language, in the order in which
 * a reader meets them, and one table of the kinds of value. `schema` is draft-07 with its parts under `definitions`.
 */
export function schemaTables(schema) {
  const names = reached(schema, schema.definitions)
  const sections = names.filter(name => kindOf(schema.definitions[name]) === 'section')
  const values = names.filter(name => kindOf(schema.definitions[name]) === 'value')
  return [
    `### The file\n\n${table(fields(schema), schema.definitions)}\n`,
    ...sections.map(name => section(name, schema.definitions)),
    '### Values\n\n| Value | Written as |\n|---|---|',
    ...values.map(name => `| <a id="${anchor(name)}"></a>${words(name)} | ${text(schema.definitions[name])} |`),
  ].join('\n')
}

function section(name, definitions) {
  const definition = definitions[name]
  const forms = otherForms(definition).flatMap(form => takes(form, definitions))
  const more = forms.length === 0 ? '' : ` Also: ${forms.join(', ')}.`
  return `### ${heading(name)}\n\n${text(definition)}${more}\n\n${table(fields(definition), definitions)}\n`
}

/** References to what a node may be instead, by its branches. */
function otherForms(node) {
  return branches(node).flatMap(branch => (branch.$ref === undefined ? otherForms(branch) : [branch]))
}

/** Names of definitions, each where the reader first meets it. */
function reached(node, definitions, found = new Set()) {
  for (const name of references(node)) {
    if (found.has(name)) continue
    found.add(name)
    reached(definitions[name], definitions, found)
  }
  return [...found]
}

/** What a node refers to. Rules for the names of a mapping are left out: its description tells them. */
function references(node) {
  if (typeof node !== 'object' || node === null) return []
  return Object.entries(node).flatMap(([key, value]) => {
    if (key === 'definitions' || key === 'propertyNames') return []
    return key === '$ref' ? [target(value)] : references(value)
  })
}

/** `section`: a mapping with members of its own. `inline`: only a way to other definitions. `value`: the rest. */
function kindOf(definition) {
  if (fields(definition).length > 0) return 'section'
  const leads = typeof definition.additionalProperties === 'object' || definition.items !== undefined
  return leads || branches(definition).some(branch => references(branch).length > 0) ? 'inline' : 'value'
}

/** The members that a mapping may have; those of mappings written in place too, under dotted names. */
function fields(node, prefix = '') {
  const own = Object.entries(node.properties ?? {}).filter(([, field]) => field.description !== undefined)
  const rows = own.flatMap(([name, field]) => {
    const required = node.required?.includes(name) === true
    return [{ path: prefix + name, field, required }, ...fields(field, `${prefix}${name}.`)]
  })
  return [...rows, ...branches(node).flatMap(branch => fields(branch, prefix))]
}

function branches(node) {
  return [node.then, node.else].filter(branch => branch !== undefined)
}

function table(rows, definitions) {
  const lines = rows.map(({ path, field, required }) => {
    const key = `\`${path}\`${required ? ' \\*' : ''}`
    return `| ${key} | ${takes(field, definitions).join(' or ')} | ${standard(field)} | ${text(field)} |`
  })
  return ['| Key | Value | Default | Meaning |', '|---|---|---|---|', ...lines].join('\n')
}

/** The forms that a field may have, in words, with links to where each is explained. */
function takes(node, definitions) {
  if (node.$ref !== undefined) {
    const name = target(node.$ref)
    return kindOf(definitions[name]) === 'inline' ? takes(definitions[name], definitions) : [link(name)]
  }
  if (node.const !== undefined) return [`\`${node.const}\``]
  if (node.enum !== undefined) return [node.enum.map(value => `\`${value}\``).join(', ')]
  const led = branches(node).flatMap(branch => takes(branch, definitions))
  const types = [node.type ?? (node.items === undefined ? [] : 'array')].flat()
  const others = led.length > 0 ? types.filter(type => !BRANCHED.has(type)) : types
  const more = others.map(type => typed(type, node, definitions)).filter(text => !led.some(one => one.startsWith(text)))
  return [...new Set([...led, ...more])]
}

/** Types that the branches of a schema tell of, where it has any. */
const BRANCHED = new Set(['string', 'object', 'array'])

function typed(type, node, definitions) {
  switch (type) {
    case 'boolean':
      return '`true`, `false`'
    case 'array':
      return node.items === undefined ? 'list' : `list of ${takes(node.items, definitions).join(' or ')}`
    case 'object':
      return typeof node.additionalProperties === 'object'
        ? `names, each with ${takes(node.additionalProperties, definitions).join(' or ') || 'any value'}`
        : 'mapping'
    default:
      return type
  }
}

function standard(field) {
  if (field.default === undefined) return ''
  const shown = Array.isArray(field.default) ? `[${field.default.join(', ')}]` : String(field.default)
  return `\`${shown}\``
}

function text(node) {
  return node.description.replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('*', '\\*')
}

function target(reference) {
  return reference.slice(reference.lastIndexOf('/') + 1)
}

function link(name) {
  return `[${words(name)}](#${anchor(name)})`
}

function words(name) {
  return name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase()
}

function heading(name) {
  const shown = words(name)
  return shown[0].toUpperCase() + shown.slice(1)
}

function anchor(name) {
  return words(name).replaceAll(' ', '-')
}
