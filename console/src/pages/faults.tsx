import { useSignal } from '@preact/signals'
import { call, messageOf } from '../api.js'
import { clock } from '../format.js'
import { useFetched } from '../state/fetched.js'
import { mayChange } from '../state/session.js'
import type { FaultsAnswer, FaultyUpstream } from '../types.js'
import { Card, Empty, Failure, OnlyLooking, State } from '../ui/parts.js'

interface Choice {
  readonly label: string
  /** As the header `x-simulate` takes it. */
  readonly faults: string
}

const NO_CHOICE: Choice = { label: 'As usual', faults: '' }

const FAILURES: readonly Choice[] = [
  { label: 'Does not fail', faults: '' },
  { label: 'Server error, 500', faults: 'status=500' },
  { label: 'Overloaded, 503, wait 2 s', faults: 'status=503 retry-after=2' },
  { label: 'Rate limit, 429, wait 5 s', faults: 'status=429 retry-after=5' },
  { label: 'Refuses the credential, 401', faults: 'status=401' },
  { label: 'Resets the connection', faults: 'reset' },
  { label: 'Never answers', faults: 'hang' },
  { label: 'Breaks off after 3 events', faults: 'cut-after=3' },
  { label: 'Error event after 3 events', faults: 'error-after=3' },
  { label: 'Broken JSON', faults: 'malformed' },
]
const SPEEDS: readonly Choice[] = [
  NO_CHOICE,
  { label: 'Half a second late', faults: 'latency=500ms' },
  { label: '3 s late, up to 3 s more', faults: 'latency=3s jitter=3s' },
  { label: 'Slow stream, 300 ms an event', faults: 'pace=300ms' },
]
const SHARES: readonly Choice[] = [
  { label: 'Every request', faults: '' },
  { label: 'Every second', faults: 'failure-rate=0.5' },
  { label: 'One in ten', faults: 'failure-rate=0.1' },
  { label: 'The first 3', faults: 'times=3' },
]
const MINUTES = [5, 15, 60] as const

interface ChoicesProps {
  readonly legend: string
  readonly choices: readonly Choice[]
  readonly value: string
  readonly isOff: boolean
  readonly onChange: (faults: string) => void
}

function Choices({ legend, choices, value, isOff, onChange }: ChoicesProps) {
  return (
    <fieldset class="choices" disabled={isOff}>
      <legend>{legend}</legend>
      {choices.map(({ label, faults }) => (
        <label key={label} class="check">
          <input type="radio" name={legend} checked={value === faults} onChange={() => onChange(faults)} />
          {label}
        </label>
      ))}
    </fieldset>
  )
}

/** Switches for the faults of the simulator. */
export function Faults() {
  const { data, error, again } = useFetched<FaultsAnswer>('/admin/faults', 5000)
  const refused = useSignal<string | undefined>(undefined)
  const all = data.value?.upstreams ?? []
  const change = async (method: 'PUT' | 'DELETE', body?: object): Promise<void> => {
    try {
      await call('/admin/faults', { method, ...(body === undefined ? {} : { body }) })
      refused.value = undefined
    } catch (cause) {
      refused.value = messageOf(cause)
    }
    again()
  }
  if (data.value !== undefined && all.length === 0) {
    return (
      <Card title="Faults">
        <Empty>
          No upstream is answered by the simulator. Declare one with <code>kind: simulator</code>: real ones are not
          disturbed from here.
        </Empty>
      </Card>
    )
  }
  return (
    <>
      <Failure error={error.value} again={again} />
      <Failure error={refused.value} />
      <div class="grid">
        <OnNow all={all} onChange={change} />
        <Form all={all} onChange={change} />
        <Known known={data.value?.known ?? []} />
      </div>
    </>
  )
}

type Change = (method: 'PUT' | 'DELETE', body?: object) => Promise<void>

function OnNow({ all, onChange }: { readonly all: readonly FaultyUpstream[]; readonly onChange: Change }) {
  const on = all.filter(({ faults }) => faults !== undefined)
  return (
    <Card
      title="On now"
      class="w5"
      aside={
        on.length === 0 ? undefined : (
          <button type="button" class="btn danger" disabled={!mayChange.value} onClick={() => void onChange('DELETE')}>
            All off
          </button>
        )
      }
    >
      {on.length === 0 ? (
        <p>
          <State level="ok">No fault is on.</State>
        </p>
      ) : (
        <table>
          <tbody>
            {on.map(({ name, faults, until = 0 }) => (
              <tr key={name}>
                <td>
                  <State level="warn">{name}</State>
                  <div>
                    <code>{faults}</code>
                  </div>
                  <span class="mut">until {clock(until)}</span>
                </td>
                <td class="n">
                  <button
                    type="button"
                    class="link"
                    disabled={!mayChange.value}
                    aria-label={`Switch off at ${name}`}
                    onClick={() => void onChange('PUT', { upstream: name, faults: '' })}
                  >
                    Off
                  </button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <p class="mut">
        Faults strike requests to the simulator alone, in all workers. They are in no file: they end at their time, with
        the process, or with a click.
      </p>
    </Card>
  )
}

function Form({ all, onChange }: { readonly all: readonly FaultyUpstream[]; readonly onChange: Change }) {
  const chosen = useSignal<string | undefined>(undefined)
  const failure = useSignal(FAILURES[2]?.faults ?? '')
  const speed = useSignal('')
  const share = useSignal('')
  const more = useSignal('')
  const minutes = useSignal<number>(15)
  const upstream = chosen.value ?? all[0]?.name ?? ''
  const parts = [failure.value, failure.value === '' && more.value === '' ? '' : share.value, speed.value, more.value]
  const faults = parts.filter(part => part !== '').join(' ')
  const isOff = !mayChange.value
  return (
    <Card title="Switch on" class="w7">
      <form
        onSubmit={event => {
          event.preventDefault()
          void onChange('PUT', { upstream, faults, minutes: minutes.value })
        }}
      >
        <div class="fields">
          <label>
            At the upstream
            <select value={upstream} disabled={isOff} onChange={event => (chosen.value = event.currentTarget.value)}>
              {all.map(({ name }) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
          <label>
            For
            <select
              value={minutes.value}
              disabled={isOff}
              onChange={event => (minutes.value = Number(event.currentTarget.value))}
            >
              {MINUTES.map(one => (
                <option key={one} value={one}>
                  {one} minutes
                </option>
              ))}
            </select>
          </label>
        </div>
        <div class="choice-columns">
          <Choices
            legend="How it fails"
            choices={FAILURES}
            value={failure.value}
            isOff={isOff}
            onChange={next => (failure.value = next)}
          />
          <div>
            <Choices
              legend="In which requests"
              choices={SHARES}
              value={share.value}
              isOff={isOff}
              onChange={next => (share.value = next)}
            />
            <Choices
              legend="How slow it is"
              choices={SPEEDS}
              value={speed.value}
              isOff={isOff}
              onChange={next => (speed.value = next)}
            />
          </div>
        </div>
        <div class="fields">
          <label class="whole">
            More faults, with spaces between
            <input
              type="text"
              placeholder="usage=none headers=big"
              value={more.value}
              disabled={isOff}
              onInput={event => (more.value = event.currentTarget.value.trim())}
            />
          </label>
        </div>
        <div class="bar-of-controls end">
          <button type="submit" class="btn primary" disabled={isOff || faults === ''}>
            Switch on
          </button>
          <code>{faults === '' ? 'nothing chosen' : faults}</code>
        </div>
        <OnlyLooking />
      </form>
    </Card>
  )
}

function Known({ known }: { readonly known: FaultsAnswer['known'] }) {
  return (
    <Card title="All that it can do" class="w12">
      <table>
        <thead>
          <tr>
            <th>Fault</th>
            <th>Effect</th>
            <th class="hide">Value</th>
          </tr>
        </thead>
        <tbody>
          {known.map(({ name, value, description }) => (
            <tr key={name}>
              <td>
                <code>{name}</code>
              </td>
              <td>{description}</td>
              <td class="hide mut">{value}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  )
}
