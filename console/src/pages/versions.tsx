import { useSignal } from '@preact/signals'
import { call, messageOf } from '../api.js'
import { day } from '../format.js'
import { parameter } from '../router.js'
import { useFetched } from '../state/fetched.js'
import type { Applied, Difference, List, PlanFile } from '../types.js'
import { Editor } from '../ui/editor.js'
import { Card, Empty, Failure, State } from '../ui/parts.js'
import { Meaning } from './outcome.js'

interface Version {
  readonly number: number
  readonly at: number
  readonly origin: keyof typeof ORIGINS
  readonly serving: boolean
  readonly returnable: boolean
  readonly canary?: {
    readonly state: 'running' | 'whole' | 'back' | 'replaced'
    readonly share: number
    readonly until: number
    readonly reason?: string
    readonly new: Counts
    readonly old: Counts
  }
  readonly difference?: Difference
}

interface Included {
  readonly name: string
  readonly text: string
}

interface Counts {
  readonly requests: number
  readonly failures: number
}

const ORIGINS = {
  start: 'the start',
  files: 'the file',
  reload: 'a reload',
  console: 'the console',
  rollback: 'a way back',
}
const EVERY_MS = 5000

/** Texts of the file that have served, and the way back to one. */
export function Versions() {
  const versions = useFetched<List<Version>>('/admin/generations', EVERY_MS)
  const file = useFetched<PlanFile>('/admin/plan/file')
  const chosen = Number(parameter('generation') ?? Number.NaN)
  const one = useFetched<{ readonly text: string; readonly included: readonly Included[] }>(
    Number.isInteger(chosen) ? `/admin/generations/${chosen}/file` : undefined,
  )
  const failure = useSignal<string | undefined>(undefined)
  const all = versions.data.value?.data ?? []
  const current = file.data.value
  const back = async (generation: number): Promise<void> => {
    failure.value = undefined
    try {
      await call<Applied>('/admin/plan/apply', { method: 'POST', body: { generation, digest: current?.digest } })
    } catch (cause) {
      failure.value = messageOf(cause)
    }
    versions.again()
    file.again()
  }
  return (
    <>
      <Failure error={versions.error.value ?? file.error.value ?? failure.value} />
      <Card title="Generations" aside={<span class="mut">Since the start, the latest 50</span>}>
        <table>
          <thead>
            <tr>
              <th>Plan</th>
              <th>Began</th>
              <th class="hide">By</th>
              <th>Changes</th>
              <th>State</th>
              <th class="n">Way back</th>
            </tr>
          </thead>
          <tbody>
            {all.map(({ number: generation, at, origin, serving, returnable, canary, difference }) => (
              <tr key={generation}>
                <td>
                  <strong>{generation}</strong>
                </td>
                <td>{day(at)}</td>
                <td class="hide">{ORIGINS[origin]}</td>
                <td>
                  {canary === undefined ? null : <Canary {...canary} />}
                  <Changed difference={difference} />
                </td>
                <td>
                  {serving ? (
                    <State level="ok">Serves</State>
                  ) : (
                    <a href={`/plan?view=generations&generation=${generation}`}>Difference</a>
                  )}
                </td>
                <td class="n">
                  {serving || !returnable ? null : (
                    <button
                      type="button"
                      class="btn"
                      disabled={current?.write !== true}
                      title={whyNot(current, file.error.value) ?? 'Writes all files of the configuration as they were'}
                      onClick={() => void back(generation)}
                    >
                      Back to {generation}
                    </button>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
        {all.length === 1 ? (
          <Empty>
            Only one plan has served since the start. <a href="/plan?view=file">Edit the file</a>, and what comes then
            is compared with it here.
          </Empty>
        ) : null}
      </Card>
      {one.data.value === undefined || current === undefined || !Number.isInteger(chosen) ? null : (
        <Card title={`From the file to plan ${chosen}`} class="below">
          <Editor
            text={one.data.value.text}
            original={current.text}
            label={`The text of plan ${chosen}`}
            isReadOnly={true}
          />
          {one.data.value.included.map(({ name, text }) => (
            <details key={name}>
              <summary>Included: {name}</summary>
              <Editor text={text} original={undefined} label={`${name} at plan ${chosen}`} isReadOnly={true} />
            </details>
          ))}
        </Card>
      )}
      <Failure error={one.error.value} />
    </>
  )
}

/** Why the files cannot be written; undefined: they can. */
function whyNot(file: PlanFile | undefined, error: string | undefined): string | undefined {
  if (file === undefined) return error ?? 'The file is not known yet'
  return file.write ? undefined : 'Needs admin: { write: true }'
}

const CANARY_WORDS = { running: 'Canary', whole: 'Went whole', back: 'Went back', replaced: 'Replaced' }

/** What became of a share of the requests. */
function Canary({ state, share, until, reason, new: fresh, old }: NonNullable<Version['canary']>) {
  const counts = `${fresh.failures} of ${fresh.requests} failed; of the others ${old.failures} of ${old.requests}`
  return (
    <div title={reason === undefined ? counts : `${reason}; ${counts}`}>
      <State level={state === 'back' ? 'bad' : state === 'running' ? 'warn' : 'ok'}>
        {`${CANARY_WORDS[state]}, ${Number((share * 100).toFixed(3))}%`}
      </State>{' '}
      {state === 'running' ? <span class="mut">{`until ${day(until)}: ${counts}`}</span> : null}
      {state === 'back' ? <span class="mut">{reason}</span> : null}
    </div>
  )
}

/** What changes for callers, the first lines of it. */
function Changed({ difference }: { readonly difference: Difference | undefined }) {
  if (difference?.changes === undefined && difference?.skipped === undefined) return null
  return (
    <details>
      <summary>{difference.skipped === undefined ? `${difference.changes} for callers` : 'Not compared'}</summary>
      <Meaning difference={difference} />
    </details>
  )
}
