import type { PlanAnswer } from '../types.js'

interface Props {
  readonly plan: PlanAnswer
  readonly value: string
  readonly onChange: (value: string) => void
}

export function ChooseKey({ plan, value, onChange }: Props) {
  return (
    <label>
      Key
      <select value={value} onChange={event => onChange(event.currentTarget.value)}>
        {plan.keys.map(({ name, off }) => (
          <option key={name} value={name} disabled={off !== undefined}>
            {name}
          </option>
        ))}
      </select>
    </label>
  )
}

export function ChooseModel({ plan, value, onChange }: Props) {
  const isOn = new Set(plan.upstreams.filter(({ off }) => off === undefined).map(({ name }) => name))
  const names = plan.models
    .filter(({ groups }) => groups.some(group => group.some(({ upstream }) => isOn.has(upstream))))
    .map(({ name }) => name)
  return (
    <label>
      Model
      <input type="text" list="models" value={value} onInput={event => onChange(event.currentTarget.value)} />
      <datalist id="models">
        {names.map(name => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </label>
  )
}
