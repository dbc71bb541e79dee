import { named, type Rule } from '../rule.js'

export const retryOfOneAttempt: Rule = {
  id: 'retry-of-one-attempt',
  severity: 'note',
  finds: '`retry.attempts: 1` while models have several targets',
  why: 'The first failure is the answer: no second target is ever asked, but where `fallbacks` name one.',
  mend: 'Leave `attempts` out, or write as many as models have targets.',
  *check({ config: { retry, models } }) {
    const several = Object.entries(models).filter(
      ([, model]) => model.targets.length > 1 && model.retry.attempts === undefined,
    )
    if (retry.attempts !== 1 || several.length === 0) return
    const names = named(several.map(([name]) => name))
    const message = `each request has one attempt, so that only the first target of ${names} is asked`
    yield { path: ['retry', 'attempts'], message }
  },
}
