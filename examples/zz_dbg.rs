use toolglot::*;
fn main() {
    let set = DialectSet::defaults();
    let mut p = Parser::new(&set, Options::default());
    let mut sink = |e: Event<'_>| println!("{e:?}");
    p.feed(b"]<]minimax[>[<", &mut sink);
    p.feed(b"tool_call>\n]<]minimax[>[<invoke name=\"x\">", &mut sink);
}
