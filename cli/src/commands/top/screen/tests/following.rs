// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What keys act on when the next look has other lines, or the same in another order.

use super::*;

/// The marked lines and the foot, once another look has been taken.
fn followed(view: &mut View, before: &Look, after: &Look) -> (Vec<String>, String) {
    chosen::follow(view, before, after);
    let screen = picture(after, view, 80, 24);
    let marked = screen.lines().filter(|line| line.starts_with('>'));
    let start = |line: &str| {
        let words: Vec<_> = line.split_whitespace().take(3).collect();
        words.join(" ")
    };
    (
        marked.map(start).collect(),
        screen.lines().last().unwrap().to_owned(),
    )
}

#[test]
fn keys_act_on_the_same_connection_wherever_it_stands() {
    let before = look();
    let mut after = look();
    after.flows.rotate_left(1);
    after.attachments.reverse();
    let mut view = choosing(&before, 2, Scope::Flow);
    let (marked, _) = followed(&mut view, &before, &after);
    assert_eq!(marked, [">curl[4711] down 198.51.100.7:443"]);
    // The other way of a connection is another line.
    view = choosing(&before, 3, Scope::Flow);
    let (marked, _) = followed(&mut view, &before, &after);
    assert_eq!(marked, [">curl[4711] up 198.51.100.7:443"]);
    view = choosing(&before, 0, Scope::Flow);
    let (marked, _) = followed(&mut view, &before, &after);
    assert_eq!(marked, ["> down ebb,"]);
    chosen::step(&after, &mut view, 1);
    assert_eq!(view.chosen, chosen::lines(&after).nth(2));
}

#[test]
fn where_a_connection_has_ended_nothing_is_done_to_another() {
    let before = look();
    let mut view = choosing(&before, 2, Scope::Flow);
    view.input = Some("sampled".to_owned());
    let mut after = look();
    after.flows.remove(0);
    let (marked, foot) = followed(&mut view, &before, &after);
    assert_eq!(marked, ["> down ebb,"]);
    assert_eq!(foot, "198.51.100.7:443 has ended");
    assert_eq!(view.input, None);
    // A keeper that is busy for a moment has ended nothing.
    let mut view = choosing(&before, 2, Scope::Flow);
    view.input = Some("sampled".to_owned());
    after.flows.clear();
    after.silent = vec![format!("{}: busy", after.attachments[0])];
    let (marked, foot) = followed(&mut view, &before, &after);
    assert_eq!(
        (marked, foot.as_str()),
        (vec![], "policy for what does not answer: sampled_")
    );
    assert!(chosen::of(&after, &view).is_none());
    let (marked, _) = followed(&mut view, &after, &before);
    assert_eq!(marked, [">curl[4711] down 198.51.100.7:443"]);
}

#[test]
fn a_process_stays_chosen_while_it_has_a_connection_and_a_unit_while_it_is_attached() {
    let before = look();
    let mut after = look();
    after.flows.remove(0);
    for scope in [Scope::Process, Scope::Unit] {
        let mut view = choosing(&before, 2, scope);
        view.input = Some("sampled".to_owned());
        let words = chosen::words(&before, &view);
        chosen::follow(&mut view, &before, &after);
        assert_eq!(chosen::words(&after, &view), words);
        assert_eq!(view.input.as_deref(), Some("sampled"));
    }
    let mut view = choosing(&before, 2, Scope::Process);
    after.flows.remove(0);
    let (marked, foot) = followed(&mut view, &before, &after);
    assert_eq!(marked, ["> down ebb,"]);
    assert_eq!(foot, "process 4711 has no connection left");
}

#[test]
fn where_an_attachment_has_ended_nothing_is_chosen_until_a_key_is_pressed() {
    let before = look();
    let mut after = look();
    after.attachments.remove(0);
    after.flows.drain(..2);
    let mut view = choosing(&before, 0, Scope::Flow);
    let (marked, foot) = followed(&mut view, &before, &after);
    assert_eq!(marked.len(), 0);
    assert!(foot.ends_with(" has ended"), "{foot}");
    let (marked, _) = followed(&mut view, &after, &after);
    assert_eq!(marked.len(), 0);
    chosen::step(&after, &mut view, 1);
    assert_eq!(view.chosen, chosen::lines(&after).next());
    // Where there was nothing before, the first line is chosen.
    let mut view = View::default();
    let (marked, _) = followed(&mut view, &Look::default(), &before);
    assert_eq!(marked, ["> down ebb,"]);
}
