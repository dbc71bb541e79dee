// The check of strategies.yaml: looks at the caller and the model, and at the body if its options say so.
export const openCheck = ({ reads }) => ({
  check: reads
    ? async request => ((await request.body()).model === request.model ? 'pass' : { refuse: 'another model' })
    : ({ caller, model }) => (caller.name === 'bench' && model !== '' ? 'pass' : { refuse: 'someone else' }),
})
