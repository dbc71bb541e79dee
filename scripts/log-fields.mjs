// The table of docs/reference/log.md: the fields of a request's log line. The schema has their names (`log.fields`), log-fields.json
// their meanings, several fields to a row.
import { readFileSync } from 'node:fs'

const root = new URL('../', import.meta.url)
/** Fields that every line has. */
const ALWAYS = ['id', 'trace']

export function logFields() {
  const schema = JSON.parse(readFileSync(new URL('schemas/gateway.schema.json', root), 'utf8'))
  const meanings = Object.entries(JSON.parse(readFileSync(new URL('log-fields.json', import.meta.url), 'utf8')))
  const explained = meanings.flatMap(([names]) => names.split(', '))
  const written = [...ALWAYS, ...schema.definitions.log.properties.fields.items.enum]
  const differing = [
    ...written.filter(name => !explained.includes(name)),
    ...explained.filter(name => !written.includes(name)),
  ]
  if (differing.length > 0)
    throw new Error(`scripts/log-fields.json and log.fields of the schema differ: ${differing.join(', ')}`)
  const rows = meanings.map(([names, meaning]) => `| ${names.replace(/\w+/g, '`$&`')} | ${meaning} |`)
  return ['| Field | Meaning |', '|---|---|', ...rows].join('\n')
}
