export function Coverage() {
  return <h1>Coverage</h1>;
}
