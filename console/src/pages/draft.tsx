import { autocompletion, completionKeymap } from '@codemirror/autocomplete'
import { type Diagnostic, linter, lintGutter } from '@codemirror/lint'
import { type EditorView, hoverTooltip, keymap } from '@codemirror/view'
import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { call, messageOf } from '../api.js'
import { useFetched } from '../state/fetched.js'
import { stats } from '../state/live.js'
import type { Applied, Checked, PlanFile } from '../types.js'
import { Editor } from '../ui/editor.js'
import { Card, Copy, Failure, State } from '../ui/parts.js'
import { schemaWordAt, schemaWords } from '../ui/schema-words.js'
import { Outcome } from './outcome.js'

const WAIT_MS = 400

function diagnosticsOf(view: EditorView, { problems }: Checked): readonly Diagnostic[] {
  return problems.flatMap(({ line, column, message, severity }) => {
    if (line < 1 || line > view.state.doc.lines) return []
    const { from, to } = view.state.doc.line(line)
    const start = Math.min(to, from + Math.max(0, column - 1))
    return [{ from: start, to, message, severity: severity === 'error' ? ('error' as const) : ('warning' as const) }]
  })
}

/** The file in an editor, checked as a reload would check it. It is written only where the configuration allows that. */
export function Draft() {
  const { data, error, again } = useFetched<PlanFile>('/admin/plan/file')
  const checked = useSignal<Checked | undefined>(undefined)
  const failure = useSignal<string | undefined>(undefined)
  const text = useSignal('')
  /** The text that the editor is made with. */
  const begun = useRef('')
  const isCompared = useSignal(false)
  const file = data.value
  const known = useRef<PlanFile | undefined>(undefined)
  if (known.current !== file) {
    known.current = file
    begun.current = file?.text ?? ''
    text.value = begun.current
  }
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
  const compare = (
    <button
      type="button"
      class="btn"
      aria-pressed={isCompared.value}
      onClick={() => {
        begun.current = text.value
        isCompared.value = !isCompared.value
      }}
    >
      Difference
    </button>
  )
  return (
    <div class="grid">
      <Card
        title={file?.file ?? 'Draft'}
        class="w8"
        aside={
          <span class="group">
            {compare}
            <Copy text={text.value} label="Copy draft" />
          </span>
        }
      >
        <Failure error={error.value ?? failure.value} />
        {file === undefined ? null : (
          <Editor
            text={begun.current}
            original={isCompared.value ? file.text : undefined}
            label="Draft of the configuration file"
            extensions={[
              ...(file.check ? [lintGutter(), linter(check, { delay: WAIT_MS })] : []),
              ...[autocompletion({ override: [schemaWords] }), keymap.of(completionKeymap), hoverTooltip(schemaWordAt)],
            ]}
            isReadOnly={!file.check}
            onReady={view => void (file.check && check(view))}
          />
        )}
        {file?.masked ? <p class="mut">{MASKED_NOTE[file.write ? 'write' : 'copy']}</p> : null}
      </Card>
      <Card title="What this draft would do" class="w4">
        {file?.check === false ? (
          <p class="mut">This session may only look: it cannot check or write a draft.</p>
        ) : null}
        {checked.value === undefined ? null : <Outcome checked={checked.value} />}
        {file?.check !== true ? null : (
          <Apply file={file} text={text.value} isValid={checked.value?.valid === true} onApplied={again} />
        )}
      </Card>
    </div>
  )
}

const MASKED_NOTE = {
  write:
    'Lines that may hold a secret are not shown. They stay as they are in the file, as long as their comment stays.',
  copy: 'Lines that may hold a secret are not shown. Do not paste this draft over the file.',
}

interface ApplyProps {
  readonly file: PlanFile
  readonly text: string
  readonly isValid: boolean
  readonly onApplied: () => void
}

function Apply({ file, text, isValid, onApplied }: ApplyProps) {
  const failure = useSignal<string | undefined>(undefined)
  const applied = useSignal<{ readonly now: number; readonly before: number | undefined } | undefined>(undefined)
  const isBusy = useSignal(false)
  const isSame = text === file.text
  const send = async (body: object): Promise<void> => {
    const before = 'generation' in body ? undefined : stats.value?.generation
    isBusy.value = true
    failure.value = undefined
    try {
      const done = await call<Applied>('/admin/plan/apply', { method: 'POST', body: { ...body, digest: file.digest } })
      applied.value = { now: done.generation, before }
      onApplied()
    } catch (cause) {
      failure.value = messageOf(cause)
    } finally {
      isBusy.value = false
    }
  }
  const { value: done } = applied
  return (
    <>
      <Failure error={failure.value} />
      {done === undefined ? null : (
        <p role="status" class="group">
          <State level="ok">Plan {done.now} serves.</State>
          {done.before === undefined || done.before === done.now ? null : (
            <button
              type="button"
              class="btn"
              disabled={isBusy.value}
              onClick={() => void send({ generation: done.before })}
            >
              Back to {done.before}
            </button>
          )}
        </p>
      )}
      <p class="group">
        <button
          type="button"
          class="btn primary"
          disabled={!file.write || !isValid || isSame || isBusy.value}
          onClick={() => void send({ text })}
        >
          Apply
        </button>
        <span class="mut">
          {!file.write
            ? 'This session cannot write the file: that needs admin: { write: true } and a session that may change.'
            : isSame
              ? 'The draft is the file.'
              : 'Writes the file and reloads it.'}
        </span>
      </p>
      {file.write ? null : (
        <p class="mut">Copy what you want into the file. The gateway reloads a changed file at once.</p>
      )}
    </>
  )
}
