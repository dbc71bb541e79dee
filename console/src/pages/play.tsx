import { parameter, setParameters } from '../router.js'
import { useFetched } from '../state/fetched.js'
import type { PlanAnswer } from '../types.js'
import { Failure, Segments } from '../ui/parts.js'
import { Chat } from './play-chat.js'
import { OPERATIONS, Operation } from './play-operation.js'
import { Voice } from './play-voice.js'

const NAMES = ['chat', ...OPERATIONS.map(({ name }) => name), 'voice']

/** Every operation, with a key of one's choice, under its limits. */
export function Play() {
  const plan = useFetched<PlanAnswer>('/admin/plan')
  const name = NAMES.find(one => one === parameter('operation')) ?? 'chat'
  const operation = OPERATIONS.find(one => one.name === name)
  return (
    <>
      <div class="bar-of-controls">
        <Segments
          label="Operation"
          options={NAMES}
          value={name}
          onChange={next => setParameters({ operation: next, model: undefined })}
        />
      </div>
      <Failure error={plan.error.value} again={plan.again} />
      {plan.data.value === undefined ? null : name === 'voice' ? (
        <Voice plan={plan.data.value} />
      ) : operation === undefined ? (
        <Chat plan={plan.data.value} />
      ) : (
        <Operation key={operation.name} plan={plan.data.value} operation={operation} />
      )}
    </>
  )
}
