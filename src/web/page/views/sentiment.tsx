export function Sentiment() {
  return <h1>Sentiment</h1>;
}
