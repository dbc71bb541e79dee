import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands'
import { yaml } from '@codemirror/lang-yaml'
import { bracketMatching, foldGutter, HighlightStyle, syntaxHighlighting } from '@codemirror/language'
import { type Diagnostic, linter, lintGutter } from '@codemirror/lint'
import { EditorState } from '@codemirror/state'
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { call, messageOf } from '../api.js'
import { counted as count } from '../format.js'
import { useFetched } from '../state/fetched.js'
import type { Problem } from '../types.js'
import { Card, Copy, Failure, State } from '../ui/parts.js'

interface FileAnswer {
  readonly file: string
  readonly text: string
  readonly masked: boolean
}

interface Checked {
  readonly valid: boolean
  readonly problems: readonly Problem[]
  readonly changes?: Readonly<Record<string, unknown>>
}

const WAIT_MS = 400

/** The colours of both themes: tokens, which change with the page. */
const COLOURS = HighlightStyle.define([
  { tag: tags.propertyName, color: 'var(--c1)' },
  { tag: tags.string, color: 'var(--c3)' },
  { tag: tags.comment, color: 'var(--text3)' },
  { tag: [tags.keyword, tags.labelName, tags.typeName], color: 'var(--c4)' },
])

function diagnosticsOf(view: EditorView, { problems }: Checked): readonly Diagnostic[] {
  return problems.flatMap(({ line, column, message, severity }) => {
    if (line < 1 || line > view.state.doc.lines) return []
    const { from, to } = view.state.doc.line(line)
    const start = Math.min(to, from + Math.max(0, column - 1))
    return [{ from: start, to, message, severity: severity === 'error' ? ('error' as const) : ('warning' as const) }]
  })
}

/** The file in an editor, checked as a reload would check it. Nothing here changes the file: what one wants is copied. */
export function Draft() {
  const { data, error } = useFetched<FileAnswer>('/admin/plan/file')
  const place = useRef<HTMLDivElement>(null)
  const checked = useSignal<Checked | undefined>(undefined)
  const failure = useSignal<string | undefined>(undefined)
  const text = useSignal('')
  const file = data.value
  useEffect(() => {
    const { current } = place
    if (current === null || file === undefined) return
    const check = async (view: EditorView): Promise<readonly Diagnostic[]> => {
      text.value = view.state.doc.toString()
      try {
        checked.value = await call<Checked>('/admin/plan/check', { method: 'POST', body: { text: text.value } })
        failure.value = undefined
        return diagnosticsOf(view, checked.value)
      } catch (cause) {
        failure.value = messageOf(cause)
        return []
      }
    }
    // Styles of the editor are adopted by its shadow root: the document's policy allows none that are written into it.
    const root = current.shadowRoot ?? current.attachShadow({ mode: 'open' })
    const theme = EditorView.theme({
      '&': { height: '60vh', color: 'var(--text)', backgroundColor: 'var(--surface)', fontSize: '13px' },
      '.cm-scroller': { fontFamily: 'ui-monospace, Menlo, "DejaVu Sans Mono", monospace', lineHeight: '20px' },
      '.cm-gutters': { backgroundColor: 'var(--sunken)', color: 'var(--text3)', border: 'none' },
      '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'color-mix(in srgb, var(--accent) 8%, transparent)' },
      '.cm-cursor': { borderLeftColor: 'var(--text)' },
      '.cm-tooltip': { backgroundColor: 'var(--raised)', color: 'var(--text)', border: '1px solid var(--line)' },
    })
    const view = new EditorView({
      parent: root,
      root,
      state: EditorState.create({
        doc: file.text,
        extensions: [
          lineNumbers(),
          foldGutter(),
          history(),
          drawSelection(),
          highlightActiveLine(),
          bracketMatching(),
          yaml(),
          syntaxHighlighting(COLOURS),
          lintGutter(),
          linter(check, { delay: WAIT_MS }),
          keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab]),
          EditorView.contentAttributes.of({ 'aria-label': 'Draft of the configuration file' }),
          EditorView.lineWrapping,
          theme,
        ],
      }),
    })
    // It can be longer than its frame: a keyboard must be able to move it.
    view.scrollDOM.tabIndex = 0
    void check(view)
    return () => view.destroy()
  }, [file])
  return (
    <div class="grid">
      <Card
        title={file === undefined ? 'Draft' : file.file}
        class="w8"
        aside={<Copy text={text.value} label="Copy draft" />}
      >
        <Failure error={error.value ?? failure.value} />
        <div ref={place} class="editor" />
        {file?.masked ? (
          <p class="mut">Lines that may hold a secret are not shown. Do not paste this draft over the file.</p>
        ) : null}
      </Card>
      <Card title="What this draft would do" class="w4">
        {checked.value === undefined ? null : <Outcome checked={checked.value} />}
        <p class="mut">
          The file stays as it is: copy what you want into it. The gateway reloads a changed file at once.
        </p>
      </Card>
    </div>
  )
}

function Outcome({ checked: { valid, problems, changes = {} } }: { readonly checked: Checked }) {
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
