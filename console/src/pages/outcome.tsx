import { counted as count } from '../format.js'
import type { Checked } from '../types.js'
import { State } from '../ui/parts.js'

/** What a draft would do: its problems, and what of the running plan would change. */
export function Outcome({ checked: { valid, problems, changes = {} } }: { readonly checked: Checked }) {
  const sections = Object.entries(changes)
  return (
    <>
      <p role="status">
        {valid ? (
          <State level="ok">It is valid.</State>
        ) : (
          <State level="bad">{count(problems.length, 'problem')} in it.</State>
        )}
      </p>
      {problems.map(({ line, column, message, severity }) => (
        <div class="problem" key={`${line}:${column}:${message}`}>
          <code class={severity === 'error' ? 'bad' : 'warn'}>
            {line}:{column}
          </code>
          <span>{message}</span>
        </div>
      ))}
      {valid && sections.length === 0 ? <p>Nothing would change.</p> : null}
      {sections.map(([section, change]) => (
        <p key={section}>
          <strong>{section}</strong> {wordsOf(change)}
        </p>
      ))}
    </>
  )
}

function wordsOf(change: unknown): string {
  if (Array.isArray(change)) return change.join(', ')
  return Object.entries((change ?? {}) as Readonly<Record<string, unknown>>)
    .map(([how, names]) => `${how}${Array.isArray(names) ? ` ${names.join(', ')}` : ''}`)
    .join('; ')
}
