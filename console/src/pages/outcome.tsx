import { counted as count } from '../format.js'
import type { Checked, Difference } from '../types.js'
import { type Level, State } from '../ui/parts.js'

/** What a draft would do: its problems, and what of the running plan would change. */
export function Outcome({ checked: { valid, problems, changes = {}, difference } }: { readonly checked: Checked }) {
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
      {difference === undefined ? null : <Meaning difference={difference} />}
      {sections.length === 0 ? null : <h3>By name</h3>}
      {sections.map(([section, change]) => (
        <p key={section}>
          <strong>{section}</strong> {wordsOf(change)}
        </p>
      ))}
    </>
  )
}

/** Words with which lines begin that people should see first. */
const MARKS: Readonly<Record<string, Level>> = { WEAKER: 'bad', LOSS: 'warn', UNREACHABLE: 'bad' }

/** What a change means for callers, a line each. */
export function Meaning({ difference: { skipped, changes = 0, lines = [] } }: { readonly difference: Difference }) {
  if (skipped !== undefined) return <p class="mut">{skipped}</p>
  return (
    <>
      <h3>For callers, beside the running plan</h3>
      {changes === 0 ? <p>Nothing changes for them.</p> : null}
      <ul class="meaning">
        {lines.map(line => {
          const [, mark = '', rest = line] = /^([A-Z, ]+): (.*)$/s.exec(line) ?? []
          const level = MARKS[mark.split(',')[0] ?? '']
          return (
            <li key={line}>
              {level === undefined ? null : (
                <State level={level}>
                  <strong>{mark}</strong>
                </State>
              )}{' '}
              {rest}
            </li>
          )
        })}
      </ul>
      {changes > lines.length ? <p class="mut">{changes - lines.length} more: gateway plan has all.</p> : null}
    </>
  )
}

function wordsOf(change: unknown): string {
  if (Array.isArray(change)) return change.join(', ')
  return Object.entries((change ?? {}) as Readonly<Record<string, unknown>>)
    .map(([how, names]) => `${how}${Array.isArray(names) ? ` ${names.join(', ')}` : ''}`)
    .join('; ')
}
