import { isObject, type Json, type JsonObject } from '../../core/json.js'

/** Longest value that is written on the line of its name. */
const MAX_ENTRY_CHARS = 90
/** Texts that need no quotes anywhere. */
const PLAIN = /^[A-Za-z][A-Za-z0-9_./-]*$/
/** Durations. */
const AMOUNT = /^\d+(?:ms|s|m|h)$/
const WORDS = /^(?:true|false|null|yes|no|on|y|n)$/i

/** A value as YAML on one line: `{ kind: swift, models: ["*"] }`. */
function inlineYaml(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(inlineYaml).join(', ')}]`
  if (isObject(value)) {
    const members = Object.entries(value).map(([name, inner]) => `${scalarYaml(name)}: ${inlineYaml(inner)}`)
    return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`
  }
  return scalarYaml(value)
}

/** The same on lines of their own where one would be too long: what follows `name:` at that indentation. */
export function entryYaml(value: Json, indent: number): string {
  const inline = inlineYaml(value)
  if (inline.length <= MAX_ENTRY_CHARS || typeof value !== 'object' || value === null) return ` ${inline}`
  const pad = `\n${' '.repeat(indent + 2)}`
  if (Array.isArray(value)) return value.map(item => `${pad}- ${inlineYaml(item)}`).join('')
  return Object.entries(value as JsonObject)
    .map(([name, inner]) => `${pad}${scalarYaml(name)}:${entryYaml(inner, indent + 2)}`)
    .join('')
}

export function scalarYaml(value: Json): string {
  if (typeof value !== 'string') return JSON.stringify(value)
  return (PLAIN.test(value) && !WORDS.test(value)) || AMOUNT.test(value) ? value : JSON.stringify(value)
}
